"""The whole command `fuse` on tables of 1 and 10 million rows, two classifiers, three classes: rows
per second and peak memory, which must not grow with the table.

    python benches/whole_command.py [millions ...]
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target/release/consilience"


def run(*arguments):
    subprocess.run([PROGRAM, *map(str, arguments), "--quiet"], check=True, stdout=subprocess.DEVNULL)


def measured(*arguments):
    """Wall seconds, CPU seconds and peak memory in MB of one command."""
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
        "u = resource.getrusage(resource.RUSAGE_CHILDREN); print(u.ru_utime + u.ru_stime, u.ru_maxrss)"
    )
    command = [sys.executable, "-c", script, str(PROGRAM), *map(str, arguments), "--quiet"]
    start = time.perf_counter()
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return time.perf_counter() - start, float(printed[0]), int(printed[1]) / 1024


def main(millions):
    subprocess.run(["cargo", "build", "--release", "--quiet", "--package", "consilience-cli"], check=True, cwd=ROOT)
    print(f"{'format':<8} {'rows':>12} {'rows/s':>12} {'rows/CPU s':>12} {'peak MB':>8}")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        run("simulate", "--preset", "sim2", "--items-per-class", 1000, "-o", folder / "train.csv")
        run("fit", folder / "train.csv", "-o", folder / "model.json")
        for million in millions:
            per_class = -(-million * 1_000_000 // 3)
            for extension in ("csv", "parquet"):
                table, fused = folder / f"table.{extension}", folder / f"fused.{extension}"
                run("simulate", "--preset", "sim2", "--items-per-class", per_class, "-o", table)
                wall, cpu, peak = measured("fuse", folder / "model.json", table, "-o", fused)
                rows = 3 * per_class
                print(f"{extension:<8} {rows:>12,} {rows / wall:>12,.0f} {rows / cpu:>12,.0f} {peak:>8.0f}")
                table.unlink()
                fused.unlink()


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or [1, 10])
