"""Counts the instructions of the core computations and compares them with benches/instructions.csv.

    python3 scripts/check_instructions.py [KERNEL ...]    fails if a count has grown by more than 3 %
    python3 scripts/check_instructions.py --write         writes the counts of this commit

A count is that of the development build, whose numerical crates are optimised, on one thread under callgrind. It
does not depend on what else the machine does, nor on its vector units: kernels use vectors of 256 bits, and callgrind
shows all programs the same processor, one with AVX2. It depends on the compiler: the table names the version, and with
another one, or on a machine without AVX2, the check is skipped.
"""

import csv
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "benches" / "instructions.csv"
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "consilience-lab"
KERNELS = ["pair-exact", "pair-smoothed", "pair-gradient", "tree", "independent", "auto-fuse", "auto-fit", "votes"]
ALLOWED_GROWTH = 1.03
REPETITIONS = 4


def compiler() -> str:
    return subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]


def instructions(kernel: str, repeat: int) -> int:
    with tempfile.NamedTemporaryFile() as output:
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output.name}", PROGRAM, "kernel", kernel,
             "--repeat", str(repeat)],
            capture_output=True, text=True,
            env={**os.environ, "RAYON_NUM_THREADS": "1", "CONSILIENCE_VECTORS": "256"},
        )
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode or not found:
        sys.exit(f"error: {kernel}: {run.stderr}")
    return int(found[1])


def count(kernel: str) -> int:
    """Instructions of one repetition."""
    once, often = instructions(kernel, 1), instructions(kernel, 1 + REPETITIONS)
    return (often - once) // REPETITIONS


def write(counts: dict[str, int]) -> None:
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["kernel", "instructions", "compiler"])
        writer.writerows([kernel, n, compiler()] for kernel, n in counts.items())


def has_avx2() -> bool:
    processor = Path("/proc/cpuinfo")
    return processor.exists() and " avx2 " in processor.read_text()


def check(counts: dict[str, int], table: dict[str, dict]) -> bool:
    good = True
    for kernel, n in counts.items():
        before = int(table[kernel]["instructions"])
        grown = n > ALLOWED_GROWTH * before
        good &= not grown
        print(f"{kernel:14} {before:>13,} {n:>13,} {n / before:6.3f}{'  grown' if grown else ''}")
    return good


def main() -> None:
    if sys.argv[1:] == ["--write"]:
        write({kernel: count(kernel) for kernel in KERNELS})
        return
    if unknown := set(sys.argv[1:]) - set(KERNELS):
        sys.exit(f"error: no kernel {', '.join(unknown)}; the kernels are {', '.join(KERNELS)}")
    table = {row["kernel"]: row for row in csv.DictReader(TABLE.open())}
    versions = {row["compiler"] for row in table.values()}
    if versions != {compiler()}:
        print(f"instruction counts are those of compiler {', '.join(versions)}, not {compiler()}: skipped")
        return
    if not has_avx2():
        print("instruction counts are those of processors with AVX2: skipped")
        return
    if not check({kernel: count(kernel) for kernel in sys.argv[1:] or KERNELS}, table):
        sys.exit("error: if the growth is wanted, run scripts/check_instructions.py --write and give the reason in the"
                 " commit message")


if __name__ == "__main__":
    main()
