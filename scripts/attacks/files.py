"""Full disks, read-only folders, pipes, and outputs that are inputs."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .bench import FORMATS, OLD, Finding, check_end


def mount(kind):
    """A small file system of one's own; None if that is not allowed."""
    place = Path(tempfile.mkdtemp(prefix="attack-disk-"))
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", kind, "tmpfs", place], capture_output=True)
    if done.returncode == 0:
        return place
    place.rmdir()
    return None


def writing_commands(bench, rng, out):
    at = bench.folder
    return rng.choice([
        ["fuse", at / "model-auto.json", at / "long.csv", "-o", out, "--output-format", rng.choice(FORMATS)],
        ["simulate", "--preset", "sim1", "--items-per-class", 20_000, "-o", out, "--output-format", rng.choice(FORMATS)],
        ["density", at / "model-independent.json", at / "long.csv", "-o", out, "--output-format", rng.choice(FORMATS)],
        ["fit", at / "train.csv", "--method", "independent", "--draws", 1000, "--keep-draws", 500, "-o", out],
        ["aggregate", at / "many-votes.csv", "-o", out, "--output-format", rng.choice(FORMATS)],
        ["report", at / "model-auto.json", at / "long.csv", "-o", out],
    ])


def attack_full_disk(bench, rng):
    place = mount("size=64k")
    if place is None:
        bench.run(*writing_commands(bench, rng, "/dev/full"), codes=(1,), seconds=60)
        return
    try:
        (place / "out").write_bytes(OLD)
        bench.run(*writing_commands(bench, rng, place / "out"), codes=(1,), seconds=60)
        found = {path.name: path.read_bytes() for path in place.iterdir()}
        if found != {"out": OLD}:
            raise Finding(f"after a full disk: {[(name, len(content)) for name, content in found.items()]}")
    finally:
        subprocess.run(["umount", place], check=True)
        place.rmdir()


def attack_read_only(bench, rng):
    place = mount("ro,size=64k")
    if place is None:
        place = Path(tempfile.mkdtemp(prefix="attack-ro-"))
        place.chmod(0o555)
    try:
        bench.run(*writing_commands(bench, rng, place / "out"), codes=(1,), seconds=60)
    finally:
        subprocess.run(["umount", place], capture_output=True)
        place.rmdir()


def attack_own_files(bench, rng):
    """An output that is an input by another name."""
    shutil.copy(bench.folder / "train.csv", bench.folder / "own.csv")
    shutil.copy(bench.folder / "model-independent.json", bench.folder / "own.json")
    shutil.copy(bench.folder / "votes.csv", bench.folder / "own-votes.csv")
    source, alias = rng.choice(["own.csv", "own.json", "own-votes.csv"]), "alias"
    kind = rng.randrange(4)
    if kind == 0:
        alias = f"./{source}"
    elif kind == 1:
        (bench.folder / alias).symlink_to(source)
    elif kind == 2:
        os.link(bench.folder / source, bench.folder / alias)
    else:
        alias = str(bench.folder / source)
    content = (bench.folder / source).read_bytes()
    if source == "own.csv":
        words = rng.choice([["fit", source, "-o", alias], ["compare", source, "--csv", alias],
                            ["compare", source, "--split-csv", alias],
                            ["report", "own.json", source, "-o", alias]])
    elif source == "own-votes.csv":
        words = rng.choice([["aggregate", source, "-o", alias, "--output-format", "csv"],
                            ["aggregate", source, "-o", "other.csv", "--sources", alias],
                            ["aggregate", source, "-o", "other.csv", "--model", alias],
                            ["aggregate", source, "-o", "other.csv", "--report", alias],
                            ["compare", source, "--votes", "--gold", "gold.csv", "--csv", alias]])
    else:
        words = rng.choice([["fuse", source, "train.csv", "-o", alias, "--output-format", "csv"],
                            ["density", source, "train.csv", "-o", alias, "--output-format", "csv"],
                            ["simulate", "--model", source, "--truth", alias, "-o", "other.csv"],
                            ["simulate", "--model", source, "-o", alias, "--output-format", "csv"],
                            ["report", source, "train.csv", "-o", alias],
                            ["export", source, "--python", "-o", alias]])
    bench.run(*words, codes=(1,))
    if (bench.folder / source).read_bytes() != content:
        raise Finding(f"overwrote its input: {words}")


def attack_fifo(bench, rng):
    """Tables through named pipes; the other side may go away early."""
    for name in ("in.fifo", "out.fifo"):
        os.mkfifo(bench.folder / name)
    form = rng.choice(FORMATS)
    content = (bench.folder / f"table.{form}").read_bytes()
    content = content[:rng.randrange(len(content))] if rng.random() < 0.5 else content
    child = bench.start("fuse", "model-independent.json", "in.fifo", "--input-format", form, "-o", "out.fifo",
                        "--output-format", rng.choice(FORMATS))
    feeder = subprocess.Popen(["sh", "-c", "cat bad > in.fifo"], cwd=bench.folder, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL, preexec_fn=lambda: (bench.folder / "bad").write_bytes(content))
    reader = subprocess.Popen(["head", "-c", str(rng.choice([10, 10**9])), "out.fifo"], cwd=bench.folder,
                              stdout=subprocess.DEVNULL)
    try:
        _, err = child.communicate(timeout=60)
        check_end(child.returncode, err, ["fuse", "in.fifo"], (0, 1))
    except subprocess.TimeoutExpired:
        raise Finding("waits for ever at a pipe") from None
    finally:
        for process in (child, feeder, reader):
            process.kill()
            process.wait()


def attack_append(bench, rng):
    """`-o /dev/stdout >> file` keeps what the file had."""
    path = bench.folder / "log"
    path.write_bytes(OLD)
    out = rng.choice(["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"])
    with open(path, "ab") as file:
        bench.run("fuse", "model-independent.json", "table.csv", "-o", out, "--output-format", rng.choice(FORMATS),
                  stdout=file)
    if not path.read_bytes().startswith(OLD):
        raise Finding(f"`-o {out} >> file` destroyed the file")


def attack_two_writers(bench, rng):
    """Of two programs that write the same file, one wins."""
    items = rng.choice([10, 10_000])
    children = [bench.start("simulate", "--preset", "sim1", "--items-per-class", items, "--seed", seed, "-o", "both.csv")
                for seed in (1, 2)]
    for child in children:
        _, err = child.communicate()
        check_end(child.returncode, err, ["simulate"], (0,))
    got = (bench.folder / "both.csv").read_bytes()
    for seed in (1, 2):
        bench.run("simulate", "--preset", "sim1", "--items-per-class", items, "--seed", seed, "-o", "one.csv")
        if (bench.folder / "one.csv").read_bytes() == got:
            break
    else:
        raise Finding("the file is of neither writer")
    (bench.folder / "one.csv").unlink()
    (bench.folder / "both.csv").unlink()
