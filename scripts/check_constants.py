"""Doubles and halves every constant that guards accuracy, and reports those that no test notices.

    scripts/check_constants.py [--list] [NAME ...]

A constant is marked by a line `/// Guard: TARGET FILTER` directly above it: TARGET is `lib` or the name of a file or folder
in the crate's `tests/`, FILTER selects tests by name. Of a struct, the mark names the fields that are guarded:
`/// Guard: TARGET FILTER (one, another)`. The source tree is copied to a temporary folder and edited there. A
constant is guarded if its test fails with twice or with half its value; the exit code is 1 if one is not.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
MARKED = re.compile(
    r"/// Guard: `?(\S+) ([^\s`]+)`?(?: \(([a-z_, ]+)\))?\n *(?:pub(?:\([a-z: ]+\))? )?const (\w+): ([^=]+?)\s*=\s*([^;]+);"
)


@dataclass
class Constant:
    """A constant with its guard, and where its value is in its file."""

    path: Path
    target: str
    only: str
    name: str
    kind: str
    value: str
    span: tuple

    def crate(self):
        return self.path.parts[1]

    def times(self, factor):
        """The value in Rust, doubled (2) or halved (0.5); every element of an array."""
        def one(value):
            if "f64" in self.kind:
                return f"({value}) * {factor:.1f}"
            return f"({value}) * 2" if factor > 1 else f"({value}) / 2"
        value = self.value.strip()
        if value.startswith("["):
            return "[" + ", ".join(one(part) for part in value.strip("[]").split(",") if part.strip()) + "]"
        return one(value)

    def command(self):
        target = ["--lib"] if self.target == "lib" else ["--test", self.target]
        return ["cargo", "test", "--quiet", "--locked", "--package", self.crate(), *target, self.only]


def marked():
    """All marked constants, in the order of their files; a mark that cannot be read is an error."""
    for path in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        text = path.read_text()
        constants = list(MARKED.finditer(text))
        if len(constants) != text.count("/// Guard:"):
            sys.exit(f"{path.relative_to(ROOT)}: a mark is not `/// Guard: TARGET FILTER` directly above a constant")
        for found in constants:
            target, only, fields, name, kind, value = found.groups()
            where, start = path.relative_to(ROOT), found.start(6)
            for field in fields.split(", ") if fields else ():
                number = re.search(rf"\b{field}: ([^,}}\s]+)", value)
                span = (start + number.start(1), start + number.end(1))
                yield Constant(where, target, only, f"{name}.{field}", "f64", number[1], span)
            if not fields:
                yield Constant(where, target, only, name, kind, value, found.span(6))


def copy_tree(folder):
    """Copies the files under version control, so that editing them changes nothing here."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def passes(constant, folder, environment):
    """Whether the guard passes in the copy; a value that does not compile, or no test, is an error."""
    done = subprocess.run(constant.command(), cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0 and "test result: FAILED" not in done.stdout:
        sys.exit(f"{constant.name}: {done.stderr}")
    if done.returncode == 0 and not re.search(r"test result: ok\. [1-9]", done.stdout):
        sys.exit(f"{constant.name}: no test matches `{constant.target} {constant.only}`")
    return done.returncode == 0


def check(constant, folder, environment):
    """The factors that the guard notices, up to the first."""
    file = folder / constant.path
    text = file.read_text()
    start, end = constant.span
    for factor, word in ((2.0, "doubled"), (0.5, "halved")):
        file.write_text(text[:start] + constant.times(factor) + text[end:])
        noticed = not passes(constant, folder, environment)
        file.write_text(text)
        if noticed:
            return word
    return None


def main():
    parser = argparse.ArgumentParser(description="Double and halve constants that guard accuracy.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these constants")
    parser.add_argument("--list", action="store_true", help="list the marked constants and end")
    options = parser.parse_args()
    constants = [c for c in marked() if not options.names or c.name in options.names]
    if options.list:
        for c in constants:
            print(f"{c.name:24} {c.value.strip():14} {c.path}: {c.target} {c.only}")
        return
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET / "constants")}
    survived = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_tree(folder)
        for c in constants:
            noticed = check(c, folder, environment)
            print(f"{c.name:24} {'noticed when ' + noticed if noticed else 'NOT NOTICED'}", flush=True)
            if not noticed:
                survived.append(c.name)
    if survived:
        sys.exit(f"no test notices: {', '.join(survived)}")


if __name__ == "__main__":
    main()
