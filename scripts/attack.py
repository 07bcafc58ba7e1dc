"""Attacks the program: mutated tables and models, signals, full disks, odd files. Prints what was tried and found.

    scripts/attack.py [--program FILE] [--seed N] [--full] [--jobs N] [--from N] [--count N] [KIND ...]

A finding is an abort, a panic, a run beyond the limits of memory and processor time, a lost or half-written file, a
temporary file left behind, or a fused probability that is none. Every case has its own random numbers, made from the
seed, the kind and the number of the case; a finding names them and keeps its files in target/attack. Standard library
only. The exit code is 1 if there are findings.
"""

import argparse
import csv
import json
import math
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
FORMATS = ["csv", "jsonl", "parquet", "arrow"]
MEMORY, SECONDS = 4 << 30, 20
OLD = b"old content\n"
TEMPORARY = ".consilience-"
METHODS = ["auto", "stacking", "independent", "discounted", "logit-normal", "normal-mixture", "bcc", "opinion-pool",
           "linear-pool", "log-pool", "meta:c1", "correlated"]
OPTIONS = {"independent": ["--inference", "map"], "meta:c1": ["--inference", "map"],
           "normal-mixture": ["--chains", "1", "--warmup", "5", "--draws", "2", "--components", "3"]}


class Finding(Exception):
    """Something that must not happen."""


class Bench:
    """A folder with the program's files, and runs of the program under limits."""

    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)

    def start(self, *words, seconds=SECONDS, folder=None, **pipes):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            # A shell starts background jobs with interruptions ignored.
            for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(one, signal.SIG_DFL)

        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **pipes}
        words = [self.program, *map(str, words)]
        return subprocess.Popen(words, cwd=folder or self.folder, preexec_fn=limit, **pipes)

    def run(self, *words, codes=(0, 1), seconds=SECONDS, **more):
        """Runs a command; an exit code other than these is a finding."""
        child = self.start(*words, seconds=seconds, **more)
        try:
            out, err = child.communicate(timeout=30 * seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            raise Finding(f"still waiting after {30 * seconds} s: {words}") from None
        check_end(child.returncode, err or b"", words, codes)
        return child.returncode, out or b"", err or b""

    def names(self):
        return {path.name for path in self.folder.iterdir()}

    def check_tidy(self, before):
        extra = self.names() - before
        if extra:
            raise Finding(f"left behind: {sorted(extra)}")


def check_end(code, err, words, codes):
    text = err.decode(errors="replace")
    if code not in codes or "internal error" in text or "panicked" in text:
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        raise Finding(f"{how}: {' '.join(map(str, words))}: {text.strip()[-300:]}")
    if code == 1 and not text.startswith(("error:", "warning:")):
        raise Finding(f"exit code 1 without a reason: {words}: {text[:200]}")
    if "\x1b" in text or "\x07" in text:
        raise Finding(f"control characters on the terminal: {text[:200]!r}")


def stock(bench):
    """The files that are mutated: a table in every format, and a model of every method."""
    must = {"codes": (0,), "seconds": 300}
    for preset, name in [("sim1", "table"), ("sim2", "train")]:
        for form in FORMATS:
            bench.run("simulate", "--preset", preset, "--items-per-class", 8, "-o", f"{name}.{form}", **must)
    for method in METHODS:
        options = OPTIONS.get(method, [])
        if method == "correlated":
            options = ["--inference", "map"]
        name = method.replace(":", "-")
        bench.run("fit", "train.csv", "--method", method, *options, "-o", f"model-{name}.json", **must)
    bench.run("simulate", "--preset", "sim1", "--items-per-class", 4000, "-o", "long.csv", **must)
    three = write_three_sources(bench.folder)
    for structure in ["tree", "tree-mixture", "full", "common"]:
        bench.run("fit", three, "--method", "correlated", "--inference", "map", "--structure", structure, "-o",
                  f"model-{structure}.json", **must)


def write_three_sources(folder):
    """A table of three sources, two of them alike, in the layout of the others."""
    rng = random.Random(1)
    lines = ["label," + ",".join(f"c{k}_{j}" for k in (1, 2, 3) for j in (1, 2, 3))]
    for i in range(30):
        shared = [rng.gauss(0, 1) for _ in range(3)]
        cells = []
        for k in range(3):
            logits = [0.7 * shared[j] * (k < 2) + rng.gauss(0, 0.7) + (i % 3 == j) for j in range(3)]
            weights = [math.exp(x) for x in logits]
            cells += [f"{w / sum(weights):.9f}" for w in weights]
        lines.append(f"{i % 3 + 1}," + ",".join(cells))
    (folder / "three.csv").write_text("\n".join(lines) + "\n")
    return "three.csv"


# --- Mutations -------------------------------------------------------------------------------------------------------

WORDS = [b"", b"nan", b"NaN", b"inf", b"-inf", b"1e999", b"-1", b"1e-400", b"0", b"1", b"-0.0", b"0.5", b"1e308", b"\"", b",",
         b"\n", b"\r\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"{", b"}", b"[", b"]", b"null", b"true", b"label", b"_", b"=",
         b"9" * 400, b"x" * 5000, b"\x1b[2J\x07", "é∞𝟙".encode(), b"\"\"", b"{}", b":", b"\\u0000", b"\\ud800"]
LENGTHS = [b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\0\0\0\0", b"\x01\0\0\0", b"\xff" * 8, b"\xff" * 7 + b"\x7f",
           b"\0" * 8, b"\0\0\0\0\x01\0\0\0"]


def mutate(content, rng):
    """Between one and four changes of bytes, words or slices."""
    content = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(content) + 1)
        span = min(len(content) - at, rng.choice([1, 2, 4, 8, 30, 300]))
        action = rng.randrange(8)
        if action == 0 and content:
            content[min(at, len(content) - 1)] ^= 1 << rng.randrange(8)
        elif action == 1:
            content[at:at + span] = rng.randbytes(span)
        elif action == 2:
            content[at:at + span] = b""
        elif action == 3:
            content[at:at] = rng.choice(WORDS)
        elif action == 4:
            content[at:at + span] = rng.choice(WORDS)
        elif action == 5:
            word = rng.choice(LENGTHS)
            content[at:at + len(word)] = word
        elif action == 6:
            other = rng.randrange(len(content) + 1)
            content[at:at] = content[other:other + span]
        elif rng.random() < 0.3:
            del content[at:]
    return bytes(content)


NUMBERS = [0, -1, 1, 2, 1e-300, 1e300, 1e308, -1e308, 1e5, 1e6, 1e-6, 0.5, 2**53, 2**63, 2**64 - 1, -2**63, 1e-12]
VALUES = [None, True, "", "x", "c1", "auto", [], {}, [[]], [1], {"a": 1}, "1" * 500, "\x1b[31m"]


def mutate_json(value, rng):
    """A copy with between one and four changes at random places."""
    value = json.loads(json.dumps(value))
    for _ in range(rng.randint(1, 4)):
        places = []
        collect(value, places)
        parent, key = rng.choice(places)
        action = rng.randrange(6)
        if action == 0:
            parent[key] = rng.choice(VALUES)
        elif action == 1:
            del parent[key]
        elif action == 2 and isinstance(parent, list):
            parent.append(json.loads(json.dumps(parent[key])))
        elif action == 3 and isinstance(parent, dict):
            parent[rng.choice(["extra", *parent])] = json.loads(json.dumps(parent[key]))
        elif isinstance(parent[key], float | int) and rng.random() < 0.5:
            parent[key] *= 10.0 ** rng.randint(-12, 12)
        else:
            parent[key] = rng.choice(NUMBERS)
        if not isinstance(value, dict) or not value:
            break
    text = json.dumps(value)
    if rng.random() < 0.1:
        text = text.replace(": ", ": " + rng.choice(["1, \"classes\": ", "[" * 200, "1e400, \"a\": "]), 1)
    return text.encode()


def collect(value, places):
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in list(entries):
        places.append((value, key))
        # Long lists of numbers are all alike.
        if not isinstance(entry, list) or len(places) < 3000:
            collect(entry, places)


# --- Attacks ---------------------------------------------------------------------------------------------------------

def attack_table(bench, rng, form):
    layout = (bench.folder / f"table.{form}").read_bytes()
    bad = f"bad.{form}"
    (bench.folder / bad).write_bytes(mutate(layout, rng))
    model = rng.choice(["model-independent.json", "model-auto.json", "model-linear-pool.json"])
    out = f"out.{rng.choice(FORMATS)}"
    words = rng.choice([
        ["fuse", model, bad, "-o", out], ["fuse", model, bad, "-o", "out.csv", "--explain"],
        ["density", "model-independent.json", bad, "-o", out], ["evaluate", model, bad, "--bootstrap", 0],
        ["fit", bad, "--method", "independent", "--inference", "map", "-o", "out.json"],
        ["fit", bad, "--method", "opinion-pool", "-o", "out.json"], ["fit", bad, "-o", "out.json"],
        ["fuse", model, bad, "--layout", "long", "-o", out],
        ["fuse", model, bad, "--values", rng.choice(["logits", "odds", "log-probabilities"]), "-o", out],
    ])
    before = bench.names()
    code, _, _ = bench.run(*words, "--threads", 1)
    written = bench.names() - before
    if written and code != 0:
        raise Finding(f"failed and left {written}: {words}")
    if "out.csv" in written and words[0] == "fuse":
        check_fused(bench.folder / "out.csv")


def attack_model(bench, rng):
    names = sorted(path.name for path in bench.folder.glob("model-*.json"))
    name = rng.choice(names)
    content = (bench.folder / name).read_bytes()
    bad = mutate(content, rng) if rng.random() < 0.3 else mutate_json(json.loads(content), rng)
    (bench.folder / "bad.json").write_bytes(bad)
    table = "three.csv" if name[6:-5] in ("tree", "tree-mixture", "full", "common") else "table.csv"
    words = rng.choice([
        ["fuse", "bad.json", table, "-o", "out.csv"], ["fuse", "bad.json", table, "-o", "out.csv", "--explain"],
        ["fuse", "bad.json", table, "-o", "out.csv", "--predictive"],
        ["density", "bad.json", table, "-o", "out.csv"], ["evaluate", "bad.json", table, "--bootstrap", 0],
        ["inspect", "bad.json"], ["inspect", "bad.json", "--format", "json"],
        ["fit", table, "--update", "bad.json", "-o", "out.json"],
        ["simulate", "--model", "bad.json", "--items-per-class", 2, "-o", "out.csv"],
    ])
    before = bench.names()
    code, _, _ = bench.run(*words, "--threads", 1)
    written = bench.names() - before
    if written and code != 0:
        raise Finding(f"failed and left {written}: {words}")
    if code == 0 and words[0] == "fuse":
        check_fused(bench.folder / "out.csv")


def check_fused(path):
    """Fused probabilities are from 0 to 1 and add up to 1."""
    with open(path, newline="", errors="replace") as file:
        rows = csv.reader(line.replace("\0", "") for line in file)
        header = next(rows, [])
        start = len(header) - 1 - header[::-1].index("predicted") if "predicted" in header else 0
        fused = [i for i in range(start) if header[i].startswith("fused_")]
        for row in rows:
            numbers = [float(row[i]) for i in fused[-3:]]
            if fused and not (all(0 <= p <= 1 for p in numbers) and (len(fused) > 3 or abs(sum(numbers) - 1) < 1e-6)):
                raise Finding(f"fused probabilities {numbers}")


COMMANDS = {
    "fit": ["fit", "long.csv", "--method", "independent", "--draws", "20000", "-o", "out"],
    "fit-auto": ["fit", "long.csv", "-o", "out"],
    "fuse": ["fuse", "model-auto.json", "long.csv", "-o", "out", "--output-format", "csv"],
    "fuse-full": ["fuse", "model-full.json", "three.csv", "-o", "out", "--output-format", "csv"],
    "density": ["density", "model-correlated.json", "long.csv", "-o", "out", "--output-format", "csv"],
    "evaluate": ["evaluate", "model-independent.json", "long.csv", "--bootstrap", "20000"],
    "compare": ["compare", "long.csv", "--methods", "auto,stacking", "--csv", "out"],
    "inspect": ["inspect", "model-correlated.json", "--plots", "out-plots"],
    "simulate": ["simulate", "--preset", "sim1", "--items-per-class", "300000", "-o", "out", "--output-format", "csv"],
    "demo": ["demo", "-o", "out-demo"],
    "completions": ["completions", "bash"],
    "man": ["man"],
}


def attack_signal(bench, rng, name):
    """A signal, or two, at a random moment; then the output is the old or the new one, and nothing else is there."""
    words = COMMANDS[name]
    out = bench.folder / "out"
    out.write_bytes(OLD)
    before = bench.names() | {"out-plots", "out-demo"}
    child = bench.start(*words, seconds=600, stdout=subprocess.DEVNULL)
    time.sleep(rng.random() ** 2 * 3)
    sent = rng.choice([[signal.SIGINT], [signal.SIGTERM], [signal.SIGHUP], [signal.SIGKILL], [signal.SIGINT] * 2,
                       [signal.SIGINT, signal.SIGTERM]])
    for one in sent:
        child.send_signal(one)
        time.sleep(rng.choice([0, 0.001, 0.05]))
    try:
        _, err = child.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        raise Finding(f"did not stop within 60 s after {sent}: {words}") from None
    killed = signal.SIGKILL in sent
    # Before its handler is in place, a signal ends the program in the usual way.
    codes = [0, 130, *(-one for one in sent)]
    check_end(child.returncode, err, words, codes)
    if killed:
        for path in bench.folder.glob(f"{TEMPORARY}*"):
            path.unlink()
    bench.check_tidy(before)
    content = out.read_bytes() if out.exists() else b""
    if content != OLD and not is_complete(content, words):
        raise Finding(f"half-written output of {len(content)} bytes after {sent}: {words}")


def is_complete(content, words):
    if words[0] == "fit":
        return json.loads(content)["format"] == "consilience"
    rows = content.count(b"\n") - 1
    expected = {"simulate": 900_000, "fuse": 30 if "three.csv" in words else 12_000, "density": 12_000}
    return rows == expected.get(words[0], rows) and content.endswith(b"\n")


def mount(kind):
    """A small file system of one's own; None if that is not allowed."""
    place = Path(tempfile.mkdtemp(prefix="attack-disk-"))
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", kind, "tmpfs", place], capture_output=True)
    if done.returncode == 0:
        return place
    place.rmdir()
    return None


def writing_commands(bench, rng, out):
    at = bench.folder
    return rng.choice([
        ["fuse", at / "model-auto.json", at / "long.csv", "-o", out, "--output-format", rng.choice(FORMATS)],
        ["simulate", "--preset", "sim1", "--items-per-class", 20_000, "-o", out, "--output-format", rng.choice(FORMATS)],
        ["density", at / "model-independent.json", at / "long.csv", "-o", out, "--output-format", rng.choice(FORMATS)],
        ["fit", at / "train.csv", "--method", "independent", "--draws", 1000, "--keep-draws", 500, "-o", out],
    ])


def attack_full_disk(bench, rng):
    place = mount("size=64k")
    if place is None:
        bench.run(*writing_commands(bench, rng, "/dev/full"), codes=(1,), seconds=60)
        return
    try:
        (place / "out").write_bytes(OLD)
        bench.run(*writing_commands(bench, rng, place / "out"), codes=(1,), seconds=60)
        found = {path.name: path.read_bytes() for path in place.iterdir()}
        if found != {"out": OLD}:
            raise Finding(f"after a full disk: {[(name, len(content)) for name, content in found.items()]}")
    finally:
        subprocess.run(["umount", place], check=True)
        place.rmdir()


def attack_read_only(bench, rng):
    place = mount("ro,size=64k")
    if place is None:
        place = Path(tempfile.mkdtemp(prefix="attack-ro-"))
        place.chmod(0o555)
    try:
        bench.run(*writing_commands(bench, rng, place / "out"), codes=(1,), seconds=60)
    finally:
        subprocess.run(["umount", place], capture_output=True)
        place.rmdir()


def attack_own_files(bench, rng):
    """An output that is an input by another name."""
    shutil.copy(bench.folder / "train.csv", bench.folder / "own.csv")
    shutil.copy(bench.folder / "model-independent.json", bench.folder / "own.json")
    source, alias = rng.choice(["own.csv", "own.json"]), "alias"
    kind = rng.randrange(4)
    if kind == 0:
        alias = f"./{source}"
    elif kind == 1:
        (bench.folder / alias).symlink_to(source)
    elif kind == 2:
        os.link(bench.folder / source, bench.folder / alias)
    else:
        alias = str(bench.folder / source)
    content = (bench.folder / source).read_bytes()
    if source == "own.csv":
        words = rng.choice([["fit", source, "-o", alias], ["compare", source, "--csv", alias],
                            ["compare", source, "--split-csv", alias]])
    else:
        words = rng.choice([["fuse", source, "train.csv", "-o", alias, "--output-format", "csv"],
                            ["density", source, "train.csv", "-o", alias, "--output-format", "csv"],
                            ["simulate", "--model", source, "--truth", alias, "-o", "other.csv"],
                            ["simulate", "--model", source, "-o", alias, "--output-format", "csv"]])
    bench.run(*words, codes=(1,))
    if (bench.folder / source).read_bytes() != content:
        raise Finding(f"overwrote its input: {words}")


def attack_fifo(bench, rng):
    """Tables through named pipes; the other side may go away early."""
    for name in ("in.fifo", "out.fifo"):
        os.mkfifo(bench.folder / name)
    form = rng.choice(FORMATS)
    content = (bench.folder / f"table.{form}").read_bytes()
    content = content[:rng.randrange(len(content))] if rng.random() < 0.5 else content
    child = bench.start("fuse", "model-independent.json", "in.fifo", "--input-format", form, "-o", "out.fifo",
                        "--output-format", rng.choice(FORMATS))
    feeder = subprocess.Popen(["sh", "-c", "cat bad > in.fifo"], cwd=bench.folder, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL, preexec_fn=lambda: (bench.folder / "bad").write_bytes(content))
    reader = subprocess.Popen(["head", "-c", str(rng.choice([10, 10**9])), "out.fifo"], cwd=bench.folder,
                              stdout=subprocess.DEVNULL)
    try:
        _, err = child.communicate(timeout=60)
        check_end(child.returncode, err, ["fuse", "in.fifo"], (0, 1))
    except subprocess.TimeoutExpired:
        raise Finding("waits for ever at a pipe") from None
    finally:
        for process in (child, feeder, reader):
            process.kill()
            process.wait()


def attack_append(bench, rng):
    """`-o /dev/stdout >> file` keeps what the file had."""
    path = bench.folder / "log"
    path.write_bytes(OLD)
    out = rng.choice(["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"])
    with open(path, "ab") as file:
        bench.run("fuse", "model-independent.json", "table.csv", "-o", out, "--output-format", rng.choice(FORMATS),
                  stdout=file)
    if not path.read_bytes().startswith(OLD):
        raise Finding(f"`-o {out} >> file` destroyed the file")


def attack_two_writers(bench, rng):
    """Of two programs that write the same file, one wins."""
    items = rng.choice([10, 10_000])
    children = [bench.start("simulate", "--preset", "sim1", "--items-per-class", items, "--seed", seed, "-o", "both.csv")
                for seed in (1, 2)]
    for child in children:
        _, err = child.communicate()
        check_end(child.returncode, err, ["simulate"], (0,))
    got = (bench.folder / "both.csv").read_bytes()
    for seed in (1, 2):
        bench.run("simulate", "--preset", "sim1", "--items-per-class", items, "--seed", seed, "-o", "one.csv")
        if (bench.folder / "one.csv").read_bytes() == got:
            break
    else:
        raise Finding("the file is of neither writer")
    (bench.folder / "one.csv").unlink()
    (bench.folder / "both.csv").unlink()


# Name: the attack, its arguments, cases by default and with --full.
KINDS = {
    **{f"table-{form}": (attack_table, (form,), 150, 10_000) for form in FORMATS},
    "model": (attack_model, (), 300, 10_000),
    **{f"signal-{name}": (attack_signal, (name,), 4, 200) for name in COMMANDS},
    "full-disk": (attack_full_disk, (), 8, 100),
    "read-only": (attack_read_only, (), 4, 50),
    "own-files": (attack_own_files, (), 16, 100),
    "fifo": (attack_fifo, (), 16, 200),
    "append": (attack_append, (), 16, 100),
    "two-writers": (attack_two_writers, (), 4, 50),
}
BASE = None


def prepare(program, folder):
    global BASE
    BASE = Bench(program, folder)


def case(task):
    """Runs one case in a fresh folder of links to the files; the finding, or None."""
    kind, number, seed = task
    attack, arguments, _, _ = KINDS[kind]
    rng = random.Random(f"{seed} {kind} {number}")
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        for path in BASE.folder.iterdir():
            os.link(path, Path(folder) / path.name)
        bench = Bench(BASE.program, folder)
        try:
            attack(bench, rng, *arguments)
        except Finding as finding:
            kept = TARGET / "attack" / f"{kind}-{seed}-{number}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept, ignore=lambda _, names: [n for n in names if n.endswith("fifo") or n == "long.csv"])
            return kind, number, str(finding)
    return kind, number, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all by default")
    parser.add_argument("--program", type=Path, default=TARGET / "debug/consilience")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--full", action="store_true", help="10 000 cases per format and of models, 200 signals per command")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--from", type=int, default=0, dest="first", help="number of the first case")
    parser.add_argument("--count", type=int, help="cases per kind")
    options = parser.parse_args()
    kinds = [kind for kind in KINDS if not options.kinds or any(kind.startswith(word) for word in options.kinds)]
    counts = {kind: options.count or KINDS[kind][3 if options.full else 2] for kind in kinds}
    tasks = [(kind, options.first + i, options.seed) for kind in kinds for i in range(counts[kind])]
    found = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory(prefix="attack-stock-") as folder:
        program = str(options.program.resolve())
        stock(Bench(program, folder))
        with multiprocessing.Pool(options.jobs, prepare, (program, folder)) as pool:
            for kind, number, finding in pool.imap_unordered(case, tasks):
                if finding:
                    found[kind].append(number)
                    print(f"{kind} {number}: {finding}", file=sys.stderr, flush=True)
    print("kind,tried,findings")
    for kind in kinds:
        print(f"{kind},{counts[kind]},{len(found[kind])}")
    sys.exit(any(found.values()))


if __name__ == "__main__":
    main()
