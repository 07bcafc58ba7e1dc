"""Checks that committed files are what their recipes make, with the program as it was last built."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "crates/consilience-cli/demo"
BUILT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
CLI, LAB = [BUILT / "consilience"], [BUILT / "consilience-lab"]


def recipes(folder):
    """Committed file, the file that the recipe makes anew, and the recipe."""
    for name in ("special", "dirichlet", "multivariate_t"):
        made = folder / f"{name}.csv"
        yield ROOT / f"reference/{name}.csv", made, [sys.executable, f"reference/make_{name}.py", made]
    made = folder / "votes.json"
    yield ROOT / "reference/votes.json", made, [sys.executable, "reference/make_votes.py", made]
    made = folder / "photos.csv"
    simulate = ["simulate", "--quiet", "--model", DEMO / "truth.json", "--items-per-class", "200"]
    yield DEMO / "photos.csv", made, CLI + simulate + ["--seed", "7", "--output", made]
    made = folder / "figure-2.svg"
    yield ROOT / "docs/figure-2.svg", made, LAB + ["reproduce", "--only", "figure-2", "--output", folder]


def main():
    stale = []
    with tempfile.TemporaryDirectory() as folder:
        for committed, made, command in recipes(Path(folder)):
            subprocess.run(list(map(str, command)), check=True, cwd=ROOT)
            if committed.read_bytes() != made.read_bytes():
                stale.append(f"{committed.relative_to(ROOT)} is not what its recipe makes")
    print("\n".join(stale) or "generated files are current")
    sys.exit(bool(stale))


if __name__ == "__main__":
    main()
