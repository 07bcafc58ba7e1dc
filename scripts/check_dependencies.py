"""Checks every crate of the lock file: a licence that fits ours, a source on crates.io, and no known vulnerability.

Advisories are checked if a copy of the RustSec advisory database is at hand: the folder in ADVISORY_DB, or the one that
cargo-audit and cargo-deny keep in the folder of cargo.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ALLOWED = {
    "MIT", "MIT-0", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause",
    "BSL-1.0", "CC0-1.0", "ISC", "NCSA", "Unicode-3.0", "Unlicense", "Zlib", "0BSD",
}
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


def acceptable(expression):
    """Whether a licence expression can be met with the allowed ones: `OR` needs one, `AND` all."""
    expression = expression.replace("/", " OR ").replace("(", "").replace(")", "")
    parts = [part.strip() for part in expression.split(" AND ")]
    return all(any(choice.strip() in ALLOWED for choice in part.split(" OR ")) for part in parts)


# Advisories that do not concern us, each with the reason.
KNOWN = {
    "RUSTSEC-2024-0436": "`paste` is no longer maintained; it runs at compile time only",
}


def advisory_folder():
    """The folder of advisories by crate, or None."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    known = [home / "advisory-db", *sorted((home / "advisory-dbs").glob("*"))]
    given = [Path(os.environ["ADVISORY_DB"])] if "ADVISORY_DB" in os.environ else known
    return next((folder / "crates" for folder in given if (folder / "crates").is_dir()), None)


def number(version):
    return tuple(int(part) for part in re.findall(r"\d+", version.split("-")[0].split("+")[0])[:3])


def meets(version, requirement):
    """Whether a version meets a requirement such as `>=1.2, <1.4` or `^0.3.1`."""
    for part in requirement.split(","):
        operator, bound = re.match(r"\s*([<>=^~]*)\s*(.*)", part).groups()
        own, bound = number(version), number(bound)
        size = max(len(own), len(bound), 3)
        own, bound = own + (0,) * (size - len(own)), bound + (0,) * (size - len(bound))
        first = next((i for i, n in enumerate(bound) if n), 2)
        kept = 2 if operator == "~" else first + 1
        if not {"<": own < bound, "<=": own <= bound, ">": own > bound, ">=": own >= bound, "=": own == bound}.get(
                operator, own >= bound and own[:kept] == bound[:kept]):
            return False
    return True


def advisories(name, version, folder):
    """Advisories that hold for a version of a crate."""
    for path in sorted((folder / name).glob("*.md")):
        text = path.read_text()
        entry = tomllib.loads(re.search(r"```toml\n(.*?)```", text, re.S).group(1))
        versions, advisory = entry.get("versions", {}), entry["advisory"]
        safe = versions.get("patched", []) + versions.get("unaffected", [])
        if advisory["id"] not in KNOWN and "withdrawn" not in advisory and not any(meets(version, s) for s in safe):
            yield advisory["id"]


def main():
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1"]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    problems, folder = [], advisory_folder()
    for package in metadata["packages"]:
        name = f"{package['name']} {package['version']}"
        if not acceptable(package["license"] or ""):
            problems.append(f"{name}: licence {package['license']!r} is not on the list")
        if package["source"] not in (None, CRATES_IO):
            problems.append(f"{name}: comes from {package['source']}")
        if folder:
            found = advisories(package["name"], package["version"], folder)
            problems += [f"{name}: advisory {advisory}" for advisory in found]
    print("\n".join(problems) or f"{len(metadata['packages'])} packages: licences and sources are fine, "
          f"{'no advisories' if folder else 'advisories not checked: there is no database'}")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
