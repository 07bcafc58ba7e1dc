"""Checks that relative links in Markdown files lead to files, and anchors to headings."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def anchors(path):
    """The anchors that GitHub makes of a file's headings."""
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(path.read_text()))
    return {heading.strip().replace(" ", "-") for heading in kept}


def broken(path):
    """Relative links of one file that lead nowhere."""
    for link in LINK.findall(CODE.sub("", path.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        if not target.exists():
            yield f"{path.relative_to(ROOT)}: {link} does not exist"
        elif anchor and anchor not in anchors(target):
            yield f"{path.relative_to(ROOT)}: {link} has no such heading"


def main():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE,
    )
    files = [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).exists()]
    problems = [problem for path in files for problem in broken(path)]
    print("\n".join(problems) or f"links of {len(files)} files are good")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
