"""Checks that the version is the same everywhere, and with `--tag v1.2.3` that it is ready to be released.

The version is set in Cargo.toml. The requirements of the project's own crates, CHANGELOG.md and CITATION.cff repeat it.
A release also needs the date of the release in CHANGELOG.md and CITATION.cff, and instructions that do not call the version
unreleased. `--notes` prints the part of CHANGELOG.md that belongs to the version.
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNRELEASED = "not released yet"
INSTALLING = ["README.md", "docs/install.md"]
HEADING = re.compile(r"^## \[(?P<name>[^\]]+)\] – (?P<rest>.+)$", re.MULTILINE)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def cargo(root):
    """The version of the workspace, and what the project's own crates require of each other."""
    workspace = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]
    own = {name: entry["version"] for name, entry in workspace["dependencies"].items()
           if isinstance(entry, dict) and "path" in entry}
    return workspace["package"]["version"], own


def changelog(root):
    """Version and date of the first heading of the changelog, and the text below it; no date before the release."""
    text = (root / "CHANGELOG.md").read_text()
    headings = list(HEADING.finditer(text))
    if not headings:
        sys.exit("CHANGELOG.md: no heading has the form `## [1.2.3] – 2026-01-31`")
    end = headings[1].start() if len(headings) > 1 else len(text)
    name, rest = headings[0]["name"], headings[0]["rest"].strip()
    version, date = (rest, None) if name == "Unreleased" else (name, rest)
    return version, date, text[headings[0].end():end].strip()


def citation(root):
    """Version and date in CITATION.cff; None where there is none. Those of references are indented."""
    text = (root / "CITATION.cff").read_text()
    found = (re.search(rf"^{field}: *[\"']?([^\"'\n]+)", text, re.MULTILINE) for field in ("version", "date-released"))
    return tuple(match and match[1].strip() for match in found)


def problems(root, tag):
    """Every disagreement, as a sentence."""
    version, own = cargo(root)
    for name, required in own.items():
        if required != version:
            yield f"Cargo.toml: {name} is required in version {required}, the workspace has {version}"
    logged, date, _ = changelog(root)
    cited, cited_date = citation(root)
    if logged != version:
        yield f"CHANGELOG.md: the first heading is about {logged}, Cargo.toml has {version}"
    if cited != version:
        yield f"CITATION.cff: the version is {cited}, Cargo.toml has {version}"
    if cited_date != date:
        yield f"CITATION.cff: date-released is {cited_date}, CHANGELOG.md has {date}"
    if tag is not None:
        yield from unready(root, tag, version, date)


def unready(root, tag, version, date):
    """What keeps this version from being released under a tag."""
    if tag != f"v{version}":
        yield f"the tag is {tag}, the version needs v{version}"
    if not DATE.fullmatch(date or ""):
        yield "CHANGELOG.md: the first heading needs the date of the release, `## [1.2.3] – 2026-01-31`"
    for page in INSTALLING:
        if UNRELEASED in (root / page).read_text():
            yield f"{page}: the instructions still contain “{UNRELEASED}”"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tag", help="the tag of a release, such as v1.2.3")
    parser.add_argument("--notes", action="store_true", help="print the release notes")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if found := list(problems(given.root, given.tag)):
        sys.exit("\n".join(found))
    version, _, notes = changelog(given.root)
    print(notes if given.notes else f"version {version} is the same in Cargo.toml, CHANGELOG.md and CITATION.cff")


if __name__ == "__main__":
    main()
