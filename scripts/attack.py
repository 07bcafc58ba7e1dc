"""Attacks the program: mutated tables and models, signals, full disks, odd files. Prints what was tried and found.

    scripts/attack.py [--program FILE] [--seed N] [--full] [--jobs N] [--from N] [--count N] [KIND ...]

A finding is an abort, a panic, a run beyond the limits of memory and processor time, a lost or half-written file, a
temporary file left behind, a probability that is none, or code from a file in an exported module or a report. Every case
has its own random numbers, made from the seed, the kind and the number of the case; a finding names them and keeps its
files in target/attack. Standard library only. The exit code is 1 if there are findings.
"""

import argparse
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

from attacks import files, signals, tables, votes
from attacks.bench import FORMATS, Bench, Finding
from attacks.stock import stock

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()

# Name: the attack, its arguments, cases by default and with --full.
KINDS = {
    **{f"table-{form}": (tables.attack_table, (form,), 150, 10_000) for form in FORMATS},
    **{f"analysis-{form}": (tables.attack_analysis, (form,), 100, 10_000) for form in FORMATS},
    **{f"votes-{form}": (votes.attack_votes, (form,), 100, 10_000) for form in FORMATS},
    "model": (tables.attack_model, (), 300, 10_000),
    "analysis-model": (tables.attack_analysis_model, (), 200, 10_000),
    "vote-model": (votes.attack_vote_model, (), 200, 10_000),
    **{f"signal-{name}": (signals.attack_signal, (name,), 4, 200) for name in signals.COMMANDS},
    **{f"full-disk-{name}": (files.attack_full_disk, (name,), 1, 20) for name in files.WRITERS},
    **{f"full-output-{name}": (files.attack_full_output, (name,), 1, 2) for name in files.PRINTERS},
    **{f"read-only-{name}": (files.attack_read_only, (name,), 1, 20) for name in files.WRITERS},
    **{f"own-files-{name}": (files.attack_own_files, (name,), 1, 20) for name in files.WRITERS},
    **{f"fifo-{name}": (files.attack_fifo, (name,), 2, 20) for name in files.READERS},
    **{f"append-{name}": (files.attack_append, (name,), 1, 20) for name in files.WRITERS},
    **{f"two-writers-{name}": (files.attack_two_writers, (name,), 1, 20) for name in files.WRITERS
       if name != "compare"},  # which writes its times
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
