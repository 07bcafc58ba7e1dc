"""Full disks, read-only folders, pipes, and outputs that are inputs, for every command that writes or reads a table."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .bench import FORMATS, OLD, Finding, check_end

# What writes a file, by the name of the attack: two commands that write different files.
WRITERS = {
    "fuse": ("fuse model-auto.json train.csv", "fuse model-independent.json train.csv"),
    "density": ("density model-independent.json train.csv", "density model-meta-c1.json train.csv"),
    "simulate": ("simulate --preset sim1 --items-per-class 500", "simulate --preset sim1 --items-per-class 500 --seed 1"),
    "fit": ("fit train.csv --method independent --inference map", "fit train.csv --method log-pool"),
    "aggregate": ("aggregate votes.csv", "aggregate votes.csv --method majority"),
    "sources": ("aggregate votes.csv -o /dev/null --sources", "aggregate votes.csv --method ibcc -o /dev/null --sources"),
    "vote-model": ("aggregate votes.csv -o /dev/null --model", "aggregate votes.csv --method ibcc -o /dev/null --model"),
    "vote-page": ("aggregate votes.csv -o /dev/null --report", "aggregate votes.csv --method ibcc -o /dev/null --report"),
    "fuse-votes": ("fuse votes-auto.json votes.csv", "fuse votes-2-ibcc.json votes.csv"),
    "report": ("report model-auto.json train.csv --title A", "report model-auto.json train.csv --title B"),
    "report-votes": ("report votes-auto.json votes.csv --title A", "report votes-auto.json votes.csv --title B"),
    "export": ("export model-auto.json", "export model-stacking.json"),
    "export-python": ("export model-auto.json --python", "export model-stacking.json --python"),
    "compare": ("compare train.csv --methods stacking --csv", "compare train.csv --methods auto --csv"),
}
OPTION = ("--sources", "--model", "--report", "--csv")
TABLES = ("fuse", "density", "simulate", "aggregate", "fuse-votes")

# What prints its result.
PRINTERS = {
    "prevalence": "prevalence model-auto.json train.csv", "advise": "advise model-auto.json train.csv --folds 2",
    "evaluate": "evaluate model-auto.json train.csv --bootstrap 0", "inspect": "inspect model-auto.json",
    "compare": "compare train.csv --methods stacking", "fit": "fit train.csv --method log-pool --format json",
    "report": "report model-auto.json train.csv", "report-json": "report model-auto.json train.csv --format json",
    "aggregate": "aggregate votes.csv", "fuse": "fuse model-auto.json train.csv", "export": "export model-auto.json -o -",
    "aggregate-json": "aggregate votes.csv -o labels.csv --format json", "help": "help fit", "man": "man",
}

# What reads a table, which comes through a pipe.
READERS = {
    "fuse": "fuse model-independent.json TABLE -o OUT", "density": "density model-independent.json TABLE -o OUT",
    "report": "report model-auto.json TABLE -o OUT", "fit": "fit TABLE --method log-pool -o OUT",
    "evaluate": "evaluate model-auto.json TABLE --bootstrap 0", "prevalence": "prevalence model-auto.json TABLE",
    "advise": "advise model-auto.json TABLE --folds 2", "compare": "compare TABLE --methods stacking",
    "aggregate": "aggregate TABLE -o OUT", "fuse-votes": "fuse votes-auto.json TABLE -o OUT",
}


def writing(rng, name, out, variant=0):
    """The words of a command that writes a file."""
    words = WRITERS[name][variant].split()
    words += [out] if words[-1] in OPTION else ["-o", out]
    return words + (["--output-format", rng.choice(FORMATS)] if name in TABLES else [])


def mount(kind):
    """A small file system of one's own; None if that is not allowed."""
    place = Path(tempfile.mkdtemp(prefix="attack-disk-"))
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", kind, "tmpfs", place], capture_output=True)
    if done.returncode == 0:
        return place
    place.rmdir()
    return None


def fill(path, most):
    """A file that leaves no room, or room for a part of an output."""
    with open(path, "wb", buffering=0) as file:
        try:
            while file.tell() < most:
                file.write(bytes(4096))
        except OSError:
            pass


def attack_full_disk(bench, rng, name):
    place = mount("size=64k")
    if place is None:
        bench.run(*writing(rng, name, "/dev/full"), codes=(1,), seconds=60)
        return
    try:
        (place / "out.csv").write_bytes(OLD)
        fill(place / "filler", rng.choice([1 << 20, (64 - 8) << 10]))
        code, _, err = bench.run(*writing(rng, name, place / "out.csv"), seconds=60)
        found = (place / "out.csv").read_bytes()
        if {path.name for path in place.iterdir()} != {"out.csv", "filler"} or (code == 1) != (found == OLD):
            raise Finding(f"after a full disk, exit code {code}: {[path.name for path in place.iterdir()]}, {len(found)} bytes")
        check_last(err, code)
    finally:
        subprocess.run(["umount", place], check=True)
        place.rmdir()


def attack_read_only(bench, rng, name):
    place = mount("ro,size=64k")
    if place is None:
        place = Path(tempfile.mkdtemp(prefix="attack-ro-"))
        place.chmod(0o555)
    try:
        code, _, err = bench.run(*writing(rng, name, place / "out.csv"), codes=(1,), seconds=60)
        check_last(err, code)
    finally:
        subprocess.run(["umount", place], capture_output=True)
        place.rmdir()


def attack_full_output(bench, _, name):
    """Standard output that takes nothing."""
    with open("/dev/full", "wb") as full:
        code, _, err = bench.run(*PRINTERS[name].split(), codes=(1,), seconds=60, stdout=full)
    check_last(err, code)


def check_last(err, code):
    """A command that fails prints no result, only notes, warnings and the error."""
    kinds = ("error:", "warning:", "hint:")
    if code == 1 and not all(line.startswith(kinds) for line in err.decode().splitlines()):
        raise Finding(f"a result before the error: {err.decode()[:300]}")


def attack_own_files(bench, rng, name):
    """An output that is an input by another name."""
    words = writing(rng, name, "alias.csv")
    if name in TABLES:
        words[-1] = "csv"
    inputs = [word for word in words if word.endswith((".csv", ".json")) and word != "alias.csv"]
    # `fuse` and `density` may replace their table.
    inputs = inputs[:1] if name in ("fuse", "density") else inputs
    source = rng.choice(inputs or ["table.csv"])
    own, alias = f"own-{source}", "alias.csv"
    shutil.copy(bench.folder / source, bench.folder / own)
    kind = rng.randrange(4)
    if kind == 1:
        (bench.folder / alias).symlink_to(own)
    elif kind == 2:
        os.link(bench.folder / own, bench.folder / alias)
    else:
        alias = f"./{own}" if kind == 0 else str(bench.folder / own)
    words = [own if word == source else alias if word == "alias.csv" else word for word in words]
    if not inputs:  # `simulate` reads nothing; its two outputs must differ
        words += ["--truth", own]
    content = (bench.folder / own).read_bytes()
    bench.run(*words, codes=(1,))
    if (bench.folder / own).read_bytes() != content:
        raise Finding(f"overwrote its input: {words}")


def attack_fifo(bench, rng, name):
    """A table through a named pipe, and the output too; the other side may go away early."""
    for fifo in ("in.fifo", "out.fifo"):
        os.mkfifo(bench.folder / fifo)
    form = rng.choice(FORMATS)
    table = "votes" if "vote" in name or name == "aggregate" else "table"
    content = (bench.folder / f"{table}.{form}").read_bytes()
    content = content[:rng.randrange(len(content))] if rng.random() < 0.5 else content
    (bench.folder / "bad").write_bytes(content)
    places = {"TABLE": "in.fifo", "OUT": "out.fifo"}
    words = [places.get(word, word) for word in READERS[name].split()] + ["--input-format", form]
    child = bench.start(*words)
    feeder = subprocess.Popen(["sh", "-c", "cat bad > in.fifo"], cwd=bench.folder, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL)
    reader = subprocess.Popen(["head", "-c", str(rng.choice([10, 10**9])), "out.fifo"], cwd=bench.folder,
                              stdout=subprocess.DEVNULL)
    try:
        _, err = child.communicate(timeout=120)
        check_end(child.returncode, err, words, (0, 1))
    except subprocess.TimeoutExpired:
        raise Finding("waits for ever at a pipe") from None
    finally:
        for process in (child, feeder, reader):
            process.kill()
            process.wait()


def attack_append(bench, rng, name):
    """`-o /dev/stdout >> file` keeps what the file had."""
    path = bench.folder / "log"
    path.write_bytes(OLD)
    out = rng.choice(["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"])
    words = writing(rng, name, out)
    with open(path, "ab") as file:
        bench.run(*words, codes=(0,), stdout=file)
    content = path.read_bytes()
    if not content.startswith(OLD) or len(content) == len(OLD):
        raise Finding(f"{words} >> file: {content[:60]}")


def attack_two_writers(bench, rng, name):
    """Of two programs that write the same file, one wins."""
    form = rng.choice(FORMATS)
    commands = [writing(rng, name, "both.csv", variant) for variant in (0, 1)]
    for words in commands:
        words[-1] = form if name in TABLES else words[-1]
    children = [bench.start(*words) for words in commands]
    for child in children:
        _, err = child.communicate()
        check_end(child.returncode, err, commands, (0,))
    got = (bench.folder / "both.csv").read_bytes()
    alone = []
    for words in commands:
        bench.run(*words, codes=(0,))
        alone.append((bench.folder / "both.csv").read_bytes())
    if got not in alone or alone[0] == alone[1]:
        raise Finding(f"the file is of neither writer: {commands}")
    (bench.folder / "both.csv").unlink()
    bench.check_tidy(bench.names() - {path.name for path in bench.folder.glob(".consilience-*")})
