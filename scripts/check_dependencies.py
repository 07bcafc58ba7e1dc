"""Checks every crate of the lock file: a licence that fits ours, and a source on crates.io."""

import json
import subprocess
import sys

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


def main():
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1"]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    problems = []
    for package in metadata["packages"]:
        name = f"{package['name']} {package['version']}"
        if not acceptable(package["license"] or ""):
            problems.append(f"{name}: licence {package['license']!r} is not on the list")
        if package["source"] not in (None, CRATES_IO):
            problems.append(f"{name}: comes from {package['source']}")
    print("\n".join(problems) or f"{len(metadata['packages'])} packages: licences and sources are fine")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
