"""Runs the commands of the README's console blocks in a fresh folder and compares what they print.

With --write the README is brought up to date instead.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def rerun(block, folder):
    """The block with the commands' present output."""
    target = os.environ.get("CARGO_TARGET_DIR", f"{ROOT}/target")
    environment = {**os.environ, "PATH": f"{target}/debug:{os.environ['PATH']}", "NO_COLOR": "1"}
    lines = []
    for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
        done = subprocess.run(
            command, shell=True, cwd=folder, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        if done.returncode:
            sys.exit(f"README: `{command}` failed:\n{done.stdout}")
        lines += [f"$ {command}", *done.stdout.rstrip().splitlines()]
    return "\n".join(lines) + "\n"


def main():
    text = README.read_text()
    with tempfile.TemporaryDirectory() as folder:
        fresh = BLOCK.sub(lambda match: f"```console\n{rerun(match[1], folder)}```", text)
    if "--write" in sys.argv:
        README.write_text(fresh)
    elif fresh != text:
        sys.exit("README: outputs are not current; run scripts/check_readme.py --write and look at the change")
    print("README outputs are current")


if __name__ == "__main__":
    main()
