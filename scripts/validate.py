"""Runs the slow tests and makes every committed table that depends on slow computations.

    scripts/validate.py [--list] [--quick] [PART ...]

A part that is finished at the present commit of the sources is skipped; an interrupted part continues where it can.
experiments/tables.csv lists the commit that every table was made at. With --quick, parts use few items and
replications, write to a temporary folder and leave all tables as they are.
"""

import argparse
import csv
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = ROOT / "experiments/tables.csv"
SOURCES = ["crates", "bindings", "Cargo.toml", "Cargo.lock", "scripts/validate.py", ":(glob)experiments/**/*.py",
           "experiments/fair/run.sh", ":(glob)reference/*.py"]
PYTHON = ROOT / ".venv-validate/bin/python"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
# VALIDATE_PROFILE=dev tries the parts without an optimised build.
PROFILE = os.environ.get("VALIDATE_PROFILE", "release")
CARGO = ["--profile", PROFILE, "--locked", "--quiet"]
BUILT = TARGET / ("debug" if PROFILE == "dev" else PROFILE)
PROGRAM, LAB = BUILT / "consilience", [BUILT / "consilience-lab"]


def tests(*names, only=()):
    """Ignored tests of these test files; with the features of the workspace, so that libraries are compiled once."""
    files = [word for name in names for word in ("--test", name)]
    return ["cargo", "test", *CARGO, "--workspace", *files, "--", "--ignored", "--nocapture", *only]


@dataclass
class Part:
    """A computation: `minutes` of processor time, commands, and the tables that they make."""

    name: str
    minutes: float
    commands: list
    tables: list = field(default_factory=list)
    # Standard output of the last command becomes this table.
    printed: str = ""
    # Files of an earlier run, removed unless it was made at the same commit.
    kept: list = field(default_factory=list)
    needs_data: bool = False
    # Arguments that make the last command quick; None if there are none.
    quick: list = None

    def all_tables(self):
        return [*self.tables, *([self.printed] if self.printed else [])]


def table(name, minutes, threads=(), needs_data=False):
    command = [*LAB, *threads, "tables", name.replace("_", "-")]
    return Part(name, minutes, [command], printed=f"experiments/many/{name}.csv", needs_data=needs_data,
                quick=["--quick"])


ONE_THREAD = ("--threads", "1")
REPRODUCE = "experiments/reproduce"
AUTO = [[PYTHON, f"{name}.py", *arguments] for name, arguments in
        [("promises", ()), ("absent", ()), ("shift", ()), ("curves", ("20", "5"))]]

PARTS = [
    Part("density", 35, [tests("pair_density", "extremes", "multi_density", only=["--skip", "the_reported_error_is"])]),
    Part("constants", 8, [[sys.executable, "scripts/check_constants.py"]]),
    Part("honesty", 15, [tests("multi_density", only=["the_reported_error_is", "--test-threads", "1"])],
         ["experiments/many/honesty.csv", "experiments/many/honesty_cases.csv"]),
    Part("calibration-delta", 8, [[*LAB, "calibration", "delta", "--output", "reference"]],
         ["reference/sbc_delta.csv"], quick=["--replications", "4"]),
    Part("calibration-full", 40, [[*LAB, "calibration", "full", "--output", "experiments/many"]],
         ["experiments/many/calibration.csv", "experiments/many/calibration_summary.csv"],
         quick=["--replications", "1"]),
    Part("gibbs", 20, [tests("gibbs")]),
    Part("coverage", 20, [tests("correlated_learning", "full")]),
    Part("mixture", 10, [tests("published_mixture")], needs_data=True),
    Part("real-data", 60, [tests("real_data", "real_sets")], needs_data=True),
    Part("reproduce", 12, [tests("reproduce"), [*LAB, "reproduce", "--output", REPRODUCE]],
         [f"{REPRODUCE}/{name}" for name in ("log-losses.csv", "bars.csv", "baselines.csv", "report.md", "figure-2.csv")],
         kept=[f"{REPRODUCE}/results"], needs_data=True, quick=["--only", "figure-2"]),
    Part("fair", 24, [["experiments/fair/run.sh", "{data}", PROGRAM], [PYTHON, "experiments/fair/table.py"]],
         ["experiments/fair/summary.csv"], kept=["experiments/fair/splits"], needs_data=True),
    Part("auto", 30, AUTO, [f"experiments/auto/{name}.csv" for name in ("promises", "absent", "shift", "curves")],
         needs_data=True),
    table("exchangeable", 60),
    table("exchangeable_margins", 0.3),
    table("ties", 40),
    table("recovery", 20),
    table("copies", 5, ONE_THREAD),
    table("missing", 10),
    table("bookies", 15, needs_data=True),
    Part("insight", 6, [[*LAB, "tables", "insight"]], printed="experiments/insight/insight.csv", quick=["--quick"]),
    Part("prevalence", 2, [[*LAB, "tables", "prevalence"]], printed="experiments/insight/prevalence.csv",
         quick=["--quick"]),
    table("cost", 5, ONE_THREAD),
    Part("cost-figure", 0, [[PYTHON, "experiments/many/plot_cost.py"]], ["experiments/many/cost.svg"]),
    Part("attack", 90, [[sys.executable, "scripts/attack.py", "--program", PROGRAM, "--full"]],
         printed="experiments/attacks/attacks.csv", quick=["--count", "2"]),
    Part("reference", 5, [[PYTHON, "reference/make_density_resolution.py", "reference/density_resolution_stress.csv"]],
         ["reference/density_resolution_stress.csv"]),
]


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def source_commit():
    """The last commit that changed the sources, marked if they have uncommitted changes."""
    changed = git("status", "--porcelain", "--", *SOURCES)
    return git("log", "-1", "--format=%h", "--", *SOURCES) + ("+changes" if changed else "")


def read_manifest():
    with open(MANIFEST, newline="") as file:
        return list(csv.DictReader(file))


def write_manifest(part, commit, minutes):
    """Replaces the rows of a part; rows of parts without tables have an empty `table`."""
    rows = [row for row in read_manifest() if row["part"] != part.name]
    new = [{"part": part.name, "table": name, "commit": commit, "cpu_minutes": f"{minutes:.1f}"}
           for name in part.all_tables() or [""]]
    order = {part.name: i for i, part in enumerate(PARTS)}
    rows = sorted([*rows, *new], key=lambda row: order.get(row["part"], len(order)))
    with open(MANIFEST, "w", newline="") as file:
        writer = csv.DictWriter(file, ["part", "table", "commit", "cpu_minutes"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def is_finished(part, commit):
    own = [row for row in read_manifest() if row["part"] == part.name]
    return bool(own) and all(row["commit"] == commit for row in own) and "+" not in commit


def data_folder():
    """The folder of the real data sets, or None."""
    folder = Path(os.environ.get("CONSILIENCE_DATA", ROOT.parent / "shared/data"))
    return folder if folder.is_dir() else None


def prepare(parts):
    """Compiles, so that the parts' times are their own, and installs the Python package where a part needs it."""
    commands = [command for part in parts for command in part.commands]
    if any("test" in command for command in commands):
        subprocess.run(["cargo", "test", *CARGO, "--workspace", "--no-run"], cwd=ROOT, check=True)
    subprocess.run(["cargo", "build", *CARGO, "--package", "consilience-lab", "--package", "consilience-cli"],
                   cwd=ROOT, check=True)
    if any(PYTHON in command for command in commands):
        if not PYTHON.exists():
            subprocess.run([sys.executable, "-m", "venv", ROOT / ".venv-validate"], check=True)
        needed = ["bindings/python", "matplotlib", "scikit-learn", "--requirement", "reference/requirements.txt"]
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", *needed], cwd=ROOT, check=True)


def start(part, commit):
    """Removes what an interrupted run at another commit left."""
    marker = TARGET / "validate" / part.name
    marker.parent.mkdir(parents=True, exist_ok=True)
    if not marker.exists() or marker.read_text() != commit:
        for name in part.kept:
            shutil.rmtree(ROOT / name, ignore_errors=True)
    marker.write_text(commit)


def run(part, environment, quick_folder=None):
    """Runs the commands; whether all succeeded."""
    data = environment.get("CONSILIENCE_DATA", "")
    commands = part.commands[-1:] if quick_folder else part.commands
    for i, command in enumerate(commands):
        last = i + 1 == len(commands)
        if quick_folder:
            command = [quick_folder if command[j - 1] == "--output" else word for j, word in enumerate(command)]
            command = [*command, *part.quick]
        command = [data if word == "{data}" else str(word) for word in command]
        print("  " + " ".join(command), flush=True)
        folder = ROOT / "experiments/auto" if part.name == "auto" else ROOT
        capture = subprocess.PIPE if last and (part.printed or part.name == "honesty") else None
        done = subprocess.run(command, cwd=folder, env=environment, stdout=capture, text=True)
        if done.returncode:
            return False
        if capture and not quick_folder:
            save(part, done.stdout)
    return True


def save(part, text):
    """Writes what the last command printed."""
    if part.printed:
        (ROOT / part.printed).write_text(text)
        return
    for path, prefix in zip(part.tables, ("summary,", "row,")):
        header = (ROOT / path).read_text().splitlines()[0]
        rows = [line.removeprefix(prefix) for line in text.splitlines() if line.startswith(prefix)]
        (ROOT / path).write_text("\n".join([header, *rows]) + "\n")


def processor_minutes():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) / 60


def main():
    parser = argparse.ArgumentParser(description="Run the slow tests and make the tables that depend on them.")
    parser.add_argument("parts", nargs="*", metavar="PART", help="only these parts")
    parser.add_argument("--list", action="store_true", help="list the parts and end")
    parser.add_argument("--quick", action="store_true", help="see that the parts run; change no table")
    options = parser.parse_args()
    if options.list:
        for part in PARTS:
            print(f"{part.name:22} {part.minutes:4} min  {' '.join(part.all_tables()) or 'tests only'}")
        return
    unknown = set(options.parts) - {part.name for part in PARTS}
    if unknown:
        sys.exit(f"unknown parts: {', '.join(sorted(unknown))}; see --list")
    chosen = [part for part in PARTS if part.name in options.parts or not options.parts]
    if options.quick:
        chosen = [part for part in chosen if part.quick is not None]
    commit, data = source_commit(), data_folder()
    environment = {**os.environ, **({"CONSILIENCE_DATA": str(data)} if data else {})}
    due = [part for part in chosen if options.quick or not is_finished(part, commit)]
    prepare(due)
    failed = []
    for i, part in enumerate(chosen, 1):
        title = f"[{i}/{len(chosen)}] {part.name}"
        if part not in due:
            print(f"{title}: finished at commit {commit}")
            continue
        if part.needs_data and not data:
            print(f"{title}: skipped, the real data sets are missing; set CONSILIENCE_DATA to their folder")
            continue
        print(f"{title}: about {part.minutes} minutes of processor time", flush=True)
        before = processor_minutes()
        if options.quick:
            with tempfile.TemporaryDirectory() as folder:
                good = run(part, environment, folder)
        else:
            start(part, commit)
            good = run(part, environment)
        minutes = processor_minutes() - before
        print(f"{title}: {'done' if good else 'FAILED'}, {minutes:.1f} minutes of processor time", flush=True)
        if not good:
            failed.append(part.name)
        elif not options.quick:
            write_manifest(part, commit, minutes)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
