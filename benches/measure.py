"""What the parts of the benchmark page share: rows of the table, the programs that are measured, costs of commands,
and simulated tables."""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
PROGRAM = BUILD / "release" / "consilience"
#: The commit before, to be measured beside this one; none by default.
BASE = os.environ.get("BASE")
BASE_PROGRAM = BUILD / "base" / "target" / "release" / "consilience"
ONE_THREAD = {name: "1" for name in
              ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")}


def row(what, ours, unit, *, before=None, peer="", peer_time=None, limit=None, target=None, instructions=None):
    """A line of the table. `ours`, `before` (at the commit of BASE), `peer_time`, `limit` and `target` have the unit;
    `instructions` are millions."""
    return {"what": what, "ours": ours, "unit": unit, "before": before, "peer": peer, "peer_time": peer_time,
            "limit": limit, "target": target, "instructions": instructions}


def python(code_or_file, *arguments, **environment):
    """The JSON that a Python process prints, on one thread."""
    given = ["-c", code_or_file] if "\n" in code_or_file else [code_or_file]
    run = subprocess.run([sys.executable, *given, *map(str, arguments)], capture_output=True, text=True,
                         cwd=ROOT / "benches", env={**os.environ, **ONE_THREAD, **environment})
    if run.returncode:
        sys.exit(f"error: {arguments}: {run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def build_base():
    """Builds the program of BASE in a worktree of its own."""
    sources = BUILD / "base" / "sources"
    if not sources.exists():
        subprocess.run(["git", "worktree", "add", "--detach", sources, BASE], cwd=ROOT, check=True)
    subprocess.run(["git", "checkout", "--quiet", "--detach", BASE], cwd=sources, check=True)
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "--package", "consilience-cli"], cwd=sources,
                   check=True, env={**os.environ, "CARGO_TARGET_DIR": str(BUILD / "base" / "target")})


def in_turns(measure, repeat):
    """Median of `measure(program)` for our program and, if there is one, that of BASE; measured in turns."""
    programs = [PROGRAM, BASE_PROGRAM] if BASE else [PROGRAM]
    rounds = [[measure(program) for program in programs] for _ in range(repeat)]
    ours, *before = (statistics.median(times) for times in zip(*rounds, strict=True))
    return {"ours": ours, "before": before[0] if before else None}


def usage(*command, **environment):
    """CPU seconds and peak memory in MB of a command."""
    script = ("import json, resource, subprocess, sys\n"
              "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
              "u = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
              "print(json.dumps([u.ru_utime + u.ru_stime, u.ru_maxrss / 1024]))\n")
    return python(script, *command, **environment)


def cpu_seconds(*arguments, repeat=5, threads=1):
    """Median CPU seconds of our program with these arguments, and of that of BASE."""
    environment = {"RAYON_NUM_THREADS": str(threads)}
    return in_turns(lambda program: usage(program, *arguments, "--quiet", **environment)[0], repeat)


def clock(command):
    """Seconds of a command by the clock."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def instructions(*arguments):
    """Millions of instructions of our program with these arguments, on one thread, whatever else the machine does."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", PROGRAM, *arguments, "--quiet"]
    environment = {**os.environ, **ONE_THREAD, "CONSILIENCE_VECTORS": "256"}
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode or not found:
        sys.exit(f"error: {arguments}: {run.stderr}")
    return int(found[1]) / 1e6


class Tables:
    """Simulated tables, in a folder that is removed at the end."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def run(self, *arguments):
        subprocess.run([PROGRAM, *map(str, arguments), "--quiet"], check=True, stdout=subprocess.DEVNULL)

    def simulated(self, name, rows):
        """About so many items of two correlated sources and three classes, `sim2`."""
        self.run("simulate", "--preset", "sim2", "--correlation", 0.5, "--items-per-class", -(-rows // 3), "-o",
                 self.path / name)
        return self.path / name

    def model(self, table, *options):
        self.run("fit", table, "-o", self.path / "model.json", *options)
        return self.path / "model.json"

    def write(self, name, labels, outputs):
        """A table of outputs, items × sources × classes."""
        n_sources, n_classes = outputs.shape[1:]
        header = [f"s{k}_c{j}" for k in range(n_sources) for j in range(n_classes)]
        lines = [",".join(["label", *header])]
        lines += [",".join([f"c{label}", *map(repr, values)])
                  for label, values in zip(labels, outputs.reshape(len(outputs), -1).tolist(), strict=True)]
        (self.path / name).write_text("\n".join(lines) + "\n")
        return self.path / name

    def correlated(self, n_sources, n_classes, items_per_class, seed=1):
        """Items of the correlated Dirichlet: shapes of 6 for the true class and 4 for the others, a third of each
        shared by all sources."""
        import numpy as np

        generator = np.random.default_rng(seed)
        labels = np.repeat(np.arange(n_classes), items_per_class)
        shapes = np.where(np.arange(n_classes) == labels[:, None], 6.0, 4.0)
        private = generator.gamma(np.repeat(shapes[:, None] * 2 / 3, n_sources, axis=1))
        gammas = private + generator.gamma(shapes / 3)[:, None]
        return self.write(f"{n_sources}-{n_classes}-{items_per_class}.csv", labels,
                          gammas / gammas.sum(axis=2, keepdims=True))
