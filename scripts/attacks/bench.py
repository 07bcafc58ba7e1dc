"""Runs of the program under limits of memory and processor time, and what must not happen in them."""

import ast
import csv
import resource
import signal
import subprocess
from pathlib import Path

FORMATS = ["csv", "jsonl", "parquet", "arrow"]
MEMORY, SECONDS = 4 << 30, 20
OLD = b"old content\n"
TEMPORARY = ".consilience-"


class Finding(Exception):
    """Something that must not happen."""


class Bench:
    """A folder with the program's files, and runs of the program under limits."""

    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)

    def start(self, *words, seconds=SECONDS, folder=None, **pipes):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            # A shell starts background jobs with interruptions ignored.
            for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(one, signal.SIG_DFL)

        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **pipes}
        words = [self.program, *map(str, words)]
        return subprocess.Popen(words, cwd=folder or self.folder, preexec_fn=limit, **pipes)

    def run(self, *words, codes=(0, 1), seconds=SECONDS, **more):
        """Runs a command; an exit code other than these is a finding."""
        child = self.start(*words, seconds=seconds, **more)
        try:
            out, err = child.communicate(timeout=30 * seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            raise Finding(f"still waiting after {30 * seconds} s: {words}") from None
        check_end(child.returncode, err or b"", words, codes)
        return child.returncode, out or b"", err or b""

    def run_whole(self, *words):
        """Runs a command that writes everything or nothing; the files that it wrote."""
        before = self.names()
        code, _, _ = self.run(*words)
        written = self.names() - before
        if written and code != 0:
            raise Finding(f"failed and left {written}: {words}")
        return written

    def names(self):
        return {path.name for path in self.folder.iterdir()}

    def check_tidy(self, before):
        extra = self.names() - before
        if extra:
            raise Finding(f"left behind: {sorted(extra)}")


def check_end(code, err, words, codes):
    text = err.decode(errors="replace")
    if code not in codes or "internal error" in text or "panicked" in text:
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        raise Finding(f"{how}: {' '.join(map(str, words))}: {text.strip()[-300:]}")
    if code == 1 and not text.startswith(("error:", "warning:")):
        raise Finding(f"exit code 1 without a reason: {words}: {text[:200]}")
    if "\x1b" in text or "\x07" in text:
        raise Finding(f"control characters on the terminal: {text[:200]!r}")


def check_fused(path):
    """Fused probabilities are from 0 to 1 and add up to 1."""
    with open(path, newline="", errors="replace") as file:
        rows = csv.reader(line.replace("\0", "") for line in file)
        header = next(rows, [])
        start = len(header) - 1 - header[::-1].index("predicted") if "predicted" in header else 0
        fused = [i for i in range(start) if header[i].startswith("fused_")]
        for row in rows:
            numbers = [float(row[i]) for i in fused[-3:]]
            if fused and not (all(0 <= p <= 1 for p in numbers) and (len(fused) > 3 or abs(sum(numbers) - 1) < 1e-6)):
                raise Finding(f"fused probabilities {numbers}")


def check_labels(path):
    """The probabilities of `aggregate` are from 0 to 1 and add up to 1."""
    with open(path, newline="", errors="replace") as file:
        rows = csv.reader(line.replace("\0", "") for line in file)
        n_classes = len(next(rows, [])) - 4
        for row in rows:
            numbers = [float(cell) for cell in row[2:2 + n_classes]]
            if not (all(0 <= p <= 1 for p in numbers) and abs(sum(numbers) - 1) < 1e-6):
                raise Finding(f"probabilities of labels {numbers}")


def check_page(path):
    """Names from a file cannot add scripts to the page."""
    text = path.read_text()
    if not text.endswith("</html>\n"):
        raise Finding("the page has no end")
    if text.count("<script") != text.count("</script") or "alert(1)</script>" in text:
        raise Finding("a script from the file")


def check_python(path):
    """Names from a file cannot add code to the module."""
    try:
        tree = ast.parse(path.read_text())
    except (SyntaxError, ValueError) as error:
        raise Finding(f"the exported module is not Python: {error}") from None
    imported = [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    if "os" in imported:
        raise Finding("code from the file")
