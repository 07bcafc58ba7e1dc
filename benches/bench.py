"""Every figure of speed that the documentation claims, measured and written to experiments/speed (see page.py).

    python benches/bench.py [PART ...]

The parts are the functions in `PARTS`; without arguments all are run but `build`. Rows of parts that are not run stay as
they are, each with the commit and the load of the machine when it was measured. `make bench` builds what is measured
and runs this script; `make bench PART="rows memory"` runs some parts, and `make bench BASE=<commit>` measures the
program of that commit beside this one, in turns.

Times are CPU times of one thread, medians of repeated runs, unless the row states otherwise.
"""

import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import measure
import page
from fits import fits, scaling
from measure import BUILD, ROOT, Tables, clock, cpu_seconds, in_turns, python, row, usage


def scoring():
    """A million items from Python against numpy with the same formula in blocks, with and without AVX-512, and as data
    frames."""
    from scoring import WITHOUT_AVX512

    found = scored()
    if not found["avx512"]:
        return scoring_rows(found, "without AVX-512", 3) + frame_rows(found)
    without = scored(NPY_DISABLE_CPU_FEATURES=WITHOUT_AVX512, PYTHONWARNINGS="ignore")
    return scoring_rows(found, "with AVX-512", 2) + scoring_rows(without, "without AVX-512", 3) + frame_rows(found)


def scored(**environment):
    return python(str(ROOT / "benches" / "scoring.py"), **environment)


def scoring_rows(found, vectors, faster):
    rows = []
    for name in ("independent", "auto"):
        times, members = found[name], f" ({found['members']} members)" if name == "auto" else ""
        what = f"`{name}`{members}, 1 M items, 2 sources, 3 classes, array; numpy {vectors}"
        limits = times["limits"]
        rows.append(row(what, 1e3 * times["ours"], "ms", peer="numpy, same formula in blocks", peer_time=1e3 * times["numpy"],
                        limit=1e3 * sum(limits.values()), target=1e3 * times["numpy"] / faster))
        rows += [row(f"… {kind} alone, in numpy {vectors}", 1e3 * seconds, "ms") for kind, seconds in limits.items()]
    return rows


def frame_rows(found):
    return [row(f"`independent`, 1 M items, 2 sources, 3 classes, {kind}", 1e3 * seconds, "ms")
            for kind, seconds in found["frames"].items()]


def rows():
    """One row from Python."""
    found = python(str(ROOT / "benches" / "one_row.py"))
    targets = {"array": 40, "pandas": 200, "polars": 200}
    return [row(f"one row, `{method}`, {kind}", 1e6 * seconds, "µs", target=targets[kind])
            for (method, kind), seconds in ((key.split(), value) for key, value in found.items())]


#: Reads a table with polars and writes ours, which has more columns; prints CPU seconds.
POLARS = """
import json, sys, time, polars as pl
read, write = {"csv": ("read_csv", "write_csv"), "parquet": ("read_parquet", "write_parquet"),
               "arrow": ("read_ipc", "write_ipc")}[sys.argv[1]]
fused = getattr(pl, read)(sys.argv[3])
start = time.process_time()
getattr(pl, read)(sys.argv[2])
getattr(fused, write)(sys.argv[4])
print(json.dumps(time.process_time() - start))
"""


def commands():
    """The whole commands `fuse` and `report`, start-up and import."""
    found = []
    with Tables() as tables:
        model = tables.model(tables.simulated("train.csv", 3000))
        for extension, target in (("csv", 0.6), ("parquet", 0.3), ("arrow", 0.15)):
            def fuse(table, extension=extension):
                return "fuse", model, table, "-o", tables.path / f"fused.{extension}"

            table, tenth = (tables.simulated(f"{n}.{extension}", n) for n in (1_000_000, 100_000))
            counted = 10 * measure.instructions(*fuse(tenth))
            seconds = cpu_seconds(*fuse(table), threads=2)
            theirs = statistics.median(python(POLARS, extension, table, *fuse(table)[-1:], tables.path / "copy")
                                       for _ in range(3))
            found.append(row(f"`fuse` with `auto`, 1 M rows, {extension}, two threads", unit="CPU s", peer="polars: reading and writing",
                             peer_time=theirs, target=target, instructions=counted, **seconds))
        items = tables.correlated(8, 5, 2000)
        report = "report", tables.model(items, "--method", "independent"), items, "-o", tables.path / "report.html"
        found.append(row("`report`, 10 000 items, 8 sources, 5 classes", unit="CPU s", **cpu_seconds(*report, repeat=3)))
    return found + starts()


def starts():
    version = in_turns(lambda program: 1e3 * clock([program, "--version"]), 31)
    base = "import numpy, sklearn.base, sklearn.utils.validation, sklearn.utils.multiclass, sklearn.model_selection"
    rounds = [[clock([sys.executable, "-c", code]) for code in (base, f"{base}, consilience")] for _ in range(9)]
    alone, ours = (min(times) for times in zip(*rounds))
    return [row("start of the program (`--version`), by the clock", unit="ms", target=5,
                instructions=measure.instructions("--version"), **version),
            row("`import consilience` beyond numpy and scikit-learn, by the clock", 1e3 * (ours - alone), "ms", target=100)]


def memory():
    """Peak memory: of `fuse` at two sizes of a table, of `fit` against the doubles of the table."""
    found = []
    with Tables() as tables:
        model = tables.model(tables.simulated("train.csv", 3000))
        table_size = 1e6 * 6 * 8 / 2**20
        for extension in ("csv", "parquet", "arrow"):
            peaks = []
            for millions in (1, 4):
                table = tables.simulated(f"table.{extension}", millions * 1_000_000)
                command = "fuse", model, table, "-o", tables.path / f"fused.{extension}", "--quiet"
                peaks.append(in_turns(lambda program: usage(program, *command, RAYON_NUM_THREADS="2")[1], 1))
                found.append(row(f"peak memory of `fuse`, {millions} M rows, {extension}", unit="MB", **peaks[-1]))
            found[-1]["target"] = 1.2 * peaks[0]["ours"]
        table = tables.simulated("table.csv", 1_000_000)
        for method in ("independent", "auto"):
            fit = "fit", table, "-o", tables.path / "m.json", "--method", method, "--quiet"
            peak = in_turns(lambda program: usage(program, *fit)[1], 1)
            found.append(row(f"peak memory of `fit --method {method}`, 1 M rows, csv", unit="MB", limit=table_size,
                             target=2.5 * table_size, **peak))
    return found


def compare():
    """`compare` on 600 items, 5 sources, 2 classes: the methods that are its default there, and these with `correlated`."""
    import numpy as np

    generator = np.random.default_rng(1)
    labels = np.repeat([0, 1], 300)
    shared, noise = generator.normal(size=(600, 1)), generator.normal(size=(600, 5))
    p = 1 / (1 + np.exp(-(2.0 * labels[:, None] - 1.0 + 0.7 * shared + noise)))
    with Tables() as tables:
        table = tables.write("items.csv", labels, np.stack([1 - p, p], axis=2))

        def run(program, *options):
            command = [program, "compare", table, "--format", "json", "--quiet", *options]
            start = time.perf_counter()
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            return time.perf_counter() - start, [found["method"] for found in json.loads(printed)["methods"]]

        names = [name for name in run(measure.PROGRAM)[1] if not name.startswith(("classifier:", "meta:"))]
        every = ",".join([*names, "correlated"])
        default = in_turns(lambda program: run(program)[0], 3)
        with_correlated = in_turns(lambda program: run(program, "--methods", every)[0], 3)
    what = "600 items, 5 sources, 2 classes, all threads, by the clock"
    return [row(f"`compare`, default methods, {what}", unit="s", **default),
            row(f"`compare`, these and `correlated`, {what}", unit="s", target=15, **with_correlated)]


def votes():
    """A million votes of 5000 sources from CSV, as experiments/votes/speed.py measures beside crowd-kit."""
    sys.path.insert(0, str(ROOT / "experiments" / "votes"))
    from speed import table

    found = []
    with Tables() as tables:
        path = tables.path / "votes.csv"
        for n_classes in (2, 5):
            table(n_classes).to_csv(path, index=False)
            for method in ("auto", "dawid-skene"):
                seconds = cpu_seconds("aggregate", path, "-o", tables.path / "labels.csv", "--method", method, repeat=3)
                found.append(row(f"`aggregate` with `{method}`, 1 M votes, {n_classes} classes", unit="CPU s", **seconds))
    return found


def criterion():
    """The benchmarks of the crates, from criterion's own estimates."""
    started = time.time()
    for package in ("correlated-dirichlet", "consilience", "consilience-io", "consilience-report"):
        subprocess.run(["cargo", "bench", "--quiet", "--locked", "--package", package, "--bench", "*", "--",
                        "--warm-up-time", "0.5", "--measurement-time", "2", "--noplot"],
                       check=True, cwd=ROOT, env={**os.environ, "RAYON_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL)
    found = []
    for estimates in sorted((BUILD / "criterion").glob("**/new/estimates.json")):
        if estimates.stat().st_mtime >= started:
            name = json.loads((estimates.parent / "benchmark.json").read_text())["full_id"]
            items = ITEMS.get(name.split("/")[0], 1)
            microseconds = json.loads(estimates.read_text())["median"]["point_estimate"] / 1e3 / items
            found.append(row(name, microseconds, "µs by the clock", target=TARGETS.get(name)))
    return found


#: Items of one round of a group of criterion's benchmarks; their rows are per item.
ITEMS = {"many_fused": 24}
#: Targets of single benchmarks of criterion in µs.
TARGETS = {
    "pair_fused_item/J3/alpha10/r0.5/eps0": 50,
    "pair_fused_item/J3/alpha10/r0.95/eps0": 150,
    "pair_fused_item/J3/alpha10/r0.5/eps0.03": 100,
    "many_fused/tree/K3_J3_private1_common2_eps0.03": 120,
    "many_fused/full/K3_J3_private1_common2_eps0": 3000,
}


def instructions():
    """Instruction counts of the core computations, which do not depend on the load of the machine."""
    sys.path.insert(0, str(ROOT / "scripts"))
    import check_instructions as check

    table = {entry["kernel"]: int(entry["instructions"]) / 1e6 for entry in csv.DictReader(check.TABLE.open())}
    found = []
    for kernel in check.KERNELS:
        n = check.count(kernel) / 1e6
        found.append(row(f"kernel `{kernel}`", n, "M instructions", peer="benches/instructions.csv", peer_time=table[kernel],
                         target=table[kernel] * check.ALLOWED_GROWTH, instructions=n))
    return found


def build():
    """`make demo` from a clean clone: CPU seconds of the build in an empty folder, halved for two cores. Dependencies are
    downloaded before."""
    subprocess.run(["cargo", "fetch", "--locked", "--quiet"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        cargo = "cargo run --quiet --locked --profile demo --package consilience-cli --no-default-features --manifest-path"
        seconds, _ = usage(*cargo.split(), ROOT / "Cargo.toml", "--", "demo", "--output", Path(folder) / "demo",
                           CARGO_TARGET_DIR=folder, RAYON_NUM_THREADS="2")
    return [row("`make demo` from an empty build folder, CPU time on two cores", seconds / 2, "s", target=150)]


PARTS = {part.__name__: part
         for part in (scoring, rows, commands, memory, compare, fits, scaling, votes, criterion, instructions, build)}


def described():
    """Commit, base, load and processor of a part's rows."""
    def git(*words):
        return subprocess.run(["git", *words], capture_output=True, text=True, cwd=ROOT).stdout.strip()

    changed = git("status", "--porcelain", "--", "crates", "bindings", "Cargo.lock")
    commit = git("rev-parse", "--short", "HEAD") + ("+changes" if changed else "")
    models = [line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    return {"commit": commit, "base": measure.BASE, "load": f"{os.getloadavg()[0]:.1f}", "processor": models[0]}


def main(chosen):
    if unknown := set(chosen) - set(PARTS):
        sys.exit(f"error: no part {', '.join(unknown)}; the parts are {', '.join(PARTS)}")
    if measure.BASE:
        measure.build_base()
    new, old, order = [], page.kept(chosen), list(PARTS)
    for part in chosen:
        print(f"{part} …", flush=True)
        about = described()
        new += [{"part": part, **one, **about} for one in PARTS[part]()]
        page.write(sorted(old + new, key=lambda one: order.index(one["part"])))
    print(f"written to {page.RESULTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:] or [part for part in PARTS if part != "build"])
