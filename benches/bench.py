"""Every figure of speed that the documentation claims, made anew and written to experiments/speed: `bench.csv`,
`bench.md` (the same as a table) and `bench.svg` (time against target).

    python benches/bench.py [PART ...]

The parts are the functions in `PARTS`; without arguments all are run. Rows of parts that are not run stay as they are,
each with the commit and the load of the machine when it was measured. `make bench` builds what is measured and runs
this script; `make bench PART=rows` runs one part.

Times are CPU times of one thread, medians of repeated runs, unless the unit is another. The limit is what the same
machine takes in the same run for the memory traffic, logarithms and exponentials alone.
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

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "experiments" / "speed"
BUILD = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PROGRAM = BUILD / "release" / "consilience"
COLUMNS = ["part", "what", "ours", "unit", "peer", "peer_time", "ratio", "limit", "target", "instructions", "commit",
           "load"]
ONE_THREAD = {name: "1" for name in
              ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")}


def row(what, ours, unit, *, peer="", peer_time=None, limit=None, target=None, instructions=None):
    ratio = None if peer_time is None else peer_time / ours
    return {"what": what, "ours": ours, "unit": unit, "peer": peer, "peer_time": peer_time, "ratio": ratio,
            "limit": limit, "target": target, "instructions": instructions}


def python(code_or_file, *arguments, **environment):
    """The JSON that a Python process prints, on one thread."""
    given = ["-c", code_or_file] if "\n" in code_or_file else [code_or_file]
    run = subprocess.run([sys.executable, *given, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT / "benches",
                         env={**os.environ, **ONE_THREAD, **environment})
    if run.returncode:
        sys.exit(f"error: {arguments}: {run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def scoring():
    """A million items from Python against numpy with the same formula in blocks, with and without AVX-512."""
    from fuse_vs_numpy import WITHOUT_AVX512

    rows = []
    for vectors, faster, environment in [
        ("as it comes", 2, {}),
        ("without AVX-512", 3, {"NPY_DISABLE_CPU_FEATURES": WITHOUT_AVX512, "PYTHONWARNINGS": "ignore"}),
    ]:
        found = python(str(ROOT / "benches" / "scoring.py"), **environment)
        for name in ("independent", "auto"):
            ours, theirs, limit = found[name]
            rows.append(row(f"`{name}`, 1 M items, 2 sources, 3 classes, array, numpy {vectors}", 1e3 * ours, "ms",
                            peer="numpy in blocks", peer_time=1e3 * theirs, limit=1e3 * limit,
                            target=1e3 * theirs / faster))
    return rows


def rows():
    """One row from Python."""
    found = python(str(ROOT / "benches" / "one_row.py"))
    targets = {"array": 40, "pandas": 200, "polars": 200}
    return [row(f"one row, `{method}`, {kind}", 1e6 * seconds, "µs", target=targets[kind])
            for (method, kind), seconds in ((key.split(), value) for key, value in found.items())]


def cost(*command, repeat=5, **environment):
    """Median CPU seconds and peak memory in MB of a command."""
    script = ("import json, resource, subprocess, sys\n"
              "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
              "u = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
              "print(json.dumps([u.ru_utime + u.ru_stime, u.ru_maxrss / 1024]))\n")
    runs = [python(script, *command, **environment) for _ in range(repeat)]
    return statistics.median(run[0] for run in runs), max(run[1] for run in runs)


class Tables:
    """Simulated tables and a model, in a folder that is removed at the end."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.make("train.csv", 3000)
        self.run("fit", self.path / "train.csv", "-o", self.path / "model.json")
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def run(self, *arguments):
        subprocess.run([PROGRAM, *map(str, arguments), "--quiet"], check=True, stdout=subprocess.DEVNULL)

    def make(self, name, rows):
        self.run("simulate", "--preset", "sim2", "--items-per-class", -(-rows // 3), "-o", self.path / name)
        return self.path / name

    def fuse(self, table):
        return PROGRAM, "fuse", self.path / "model.json", table, "-o", self.path / f"fused{table.suffix}", "--quiet"


def commands():
    """The whole command `fuse`, start-up and import."""
    found = []
    with Tables() as tables:
        for extension, target in (("csv", 0.6), ("parquet", 0.3), ("arrow", 0.15)):
            table = tables.make(f"table.{extension}", 1_000_000)
            seconds, _ = cost(*tables.fuse(table), RAYON_NUM_THREADS="2")
            copied = time.process_time()
            (tables.path / "copy").write_bytes(table.read_bytes())
            copied = time.process_time() - copied
            found.append(row(f"`fuse`, 1 M rows, {extension}, all threads", seconds, "CPU s", limit=copied, target=target))
    found.append(row("start of the program (`--version`)", 1e3 * clock([PROGRAM, "--version"]), "ms", target=5))
    base = "import numpy, sklearn.base, sklearn.utils.validation, sklearn.utils.multiclass, sklearn.model_selection"
    imports = [clock([sys.executable, "-c", code]) for code in (base, f"{base}, consilience")]
    found.append(row("`import consilience` beyond numpy and scikit-learn", 1e3 * (imports[1] - imports[0]), "ms",
                     target=100))
    return found


def clock(command, repeat=15):
    """Least time by the clock in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return min(times)


def memory():
    """Peak memory: of `fuse` at two sizes of a table, of `fit` against the doubles of the table."""
    found = []
    with Tables() as tables:
        for millions in (1, 4):
            table = tables.make("table.csv", millions * 1_000_000)
            _, peak = cost(*tables.fuse(table), repeat=1, RAYON_NUM_THREADS="2")
            found.append(row(f"peak memory of `fuse`, {millions} M rows, csv", peak, "MB"))
            if millions == 1:
                command = (PROGRAM, "fit", table, "-o", tables.path / "m.json", "--method", "independent", "--quiet")
                _, fit_peak = cost(*command, repeat=1)
        found[1]["target"] = 1.2 * found[0]["ours"]
        table_size = 1e6 * 6 * 8 / 2**20
        found.append(row("peak memory of `fit --method independent`, 1 M rows, csv", fit_peak, "MB", limit=table_size,
                         target=2.5 * table_size))
    return found


def compare():
    """`compare` of all methods on 600 items, 5 sources, 2 classes, and what `correlated` takes of it."""
    with Tables() as tables:
        import numpy as np

        generator = np.random.default_rng(1)
        label = np.repeat(["x", "y"], 300)
        shared, noise = generator.normal(size=(600, 1)), generator.normal(size=(600, 5))
        logits = np.where(label == "y", 1.0, -1.0)[:, None] + 0.7 * shared + noise
        p = 1 / (1 + np.exp(-logits))
        lines = ["label," + ",".join(f"s{k}_x,s{k}_y" for k in range(5))]
        lines += [f"{c}," + ",".join(f"{1 - v!r},{v!r}" for v in map(float, values))
                  for c, values in zip(label, p, strict=True)]
        table = tables.path / "items.csv"
        table.write_text("\n".join(lines) + "\n")
        start = time.perf_counter()
        printed = subprocess.run([PROGRAM, "compare", table, "--format", "json", "--quiet"], check=True,
                                 capture_output=True, text=True).stdout
        seconds = time.perf_counter() - start
    methods = json.loads(printed)["methods"]
    own = sum(m["fit_seconds"] + m["fuse_seconds"] for m in methods if m["method"].startswith("correlated"))
    return [row("`compare` of all methods, 600 items, 5 sources, 2 classes, all threads", seconds, "s", target=15),
            row("… fits and fusing of `correlated` in it", own, "s")]


#: Limits of single benchmarks of criterion, in seconds.
TARGETS = {"pair_fused_item/J3/alpha10/r0.5/eps0": 50e-6, "pair_fused_item/J3/alpha10/r0.5/eps0.03": 100e-6}


def criterion():
    """The benchmarks of the crates, from criterion's own estimates."""
    folder = BUILD / "criterion"
    started = time.time()
    for package in ("correlated-dirichlet", "consilience", "consilience-io"):
        subprocess.run(["cargo", "bench", "--quiet", "--locked", "--package", package, "--benches", "--",
                        "--warm-up-time", "0.5", "--measurement-time", "2", "--noplot"],
                       check=True, cwd=ROOT, env={**os.environ, "RAYON_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL)
    found = []
    for estimates in sorted(folder.glob("**/new/estimates.json")):
        if estimates.stat().st_mtime >= started:
            name = json.loads((estimates.parent / "benchmark.json").read_text())["full_id"]
            seconds = json.loads(estimates.read_text())["median"]["point_estimate"] / 1e9
            target = TARGETS.get(name)
            found.append(row(name, 1e6 * seconds, "µs by the clock", target=target and 1e6 * target))
    return found


def instructions():
    """Instruction counts of the core computations, which do not depend on the load of the machine."""
    sys.path.insert(0, str(ROOT / "scripts"))
    import check_instructions as check

    table = {entry["kernel"]: entry for entry in csv.DictReader(check.TABLE.open())}
    found = []
    for kernel in check.KERNELS:
        n, before = check.count(kernel), int(table[kernel]["instructions"])
        found.append(row(f"kernel `{kernel}`", n / 1e6, "M instructions", peer="benches/instructions.csv",
                         peer_time=before / 1e6, target=before * check.ALLOWED_GROWTH / 1e6, instructions=n))
    return found


PARTS = {part.__name__: part for part in (scoring, rows, commands, memory, compare, criterion, instructions)}


def measured(part):
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=ROOT).stdout
    load = f"{os.getloadavg()[0]:.1f}"
    print(f"{part} …", flush=True)
    return [{"part": part, **one, "commit": commit.strip(), "load": load} for one in PARTS[part]()]


def shown(value):
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


def write(found):
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / "bench.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: shown(one[name]) for name in COLUMNS} for one in found)
    lines = ["| " + " | ".join(COLUMNS[1:]) + " |", "|" + "---|" * (len(COLUMNS) - 1)]
    lines += ["| " + " | ".join(shown(one[name]) for name in COLUMNS[1:]) + " |" for one in found]
    (RESULTS / "bench.md").write_text("\n".join(lines) + "\n")
    (RESULTS / "bench.svg").write_text(plot(found))


def plot(found):
    """Bars of the measured value over the target, on a logarithmic axis from 1/10 to 10; beyond 1 the target is missed."""
    from math import log10
    from xml.sax.saxutils import escape

    bars = [(one["what"], float(one["ours"]) / float(one["target"])) for one in found if shown(one["target"])]
    left, width, step = 460, 300, 20
    height = step * (len(bars) + 2)

    def place(ratio):
        return left + width * (log10(min(max(ratio, 0.1), 10.0)) + 1) / 2

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{height}" '
             'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
    for ratio in (0.1, 0.3, 1, 3, 10):
        x = place(ratio)
        parts.append(f'<line x1="{x:.0f}" y1="{step}" x2="{x:.0f}" y2="{height - step}" stroke="#bbb"/>')
        parts.append(f'<text x="{x:.0f}" y="14" text-anchor="middle">{ratio}</text>')
    for i, (what, ratio) in enumerate(bars):
        y, end = step * (i + 1) + 4, place(ratio)
        first, last = sorted((place(1), end))
        colour = "#2a7" if ratio <= 1 else "#c43"
        parts.append(f'<rect x="{first:.1f}" y="{y}" width="{last - first:.1f}" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 10}" text-anchor="end">{escape(what.replace("`", ""))}</text>')
        parts.append(f'<text x="{left + width + 6}" y="{y + 10}">{ratio:.2f}</text>')
    parts.append(f'<text x="{left}" y="{height - 4}">measured / target; left of 1 is better</text></svg>\n')
    return "\n".join(parts)


def main(chosen):
    if unknown := set(chosen) - set(PARTS):
        sys.exit(f"error: no part {', '.join(unknown)}; the parts are {', '.join(PARTS)}")
    kept = []
    if (RESULTS / "bench.csv").exists():
        kept = [one for one in csv.DictReader((RESULTS / "bench.csv").open()) if one["part"] not in chosen]
    new = []
    for part in chosen:
        new += measured(part)
        order = list(PARTS)
        write(sorted(kept + new, key=lambda one: order.index(one["part"])))
    print(f"written to {RESULTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:] or list(PARTS))
