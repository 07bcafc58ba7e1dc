"""The steps of a release that build something: the workflow calls them, and anybody can.

    scripts/release.py crates                                         # compiles the crates from what would be published
    scripts/release.py program x86_64-unknown-linux-gnu --out dist    # builds the program, tries it, packs it
    scripts/release.py test-wheel dist                                # tests a wheel in a fresh environment
    scripts/release.py checksums dist                                 # writes dist/SHA256SUMS
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# Rust itself needs this version of glibc, from 2012.
GLIBC = "2.17"
DOCUMENTS = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"]
# What is tested everywhere; on Linux it is everything that needs no program.
PORTABLE = ["distributions", "estimators", "input", "insight", "labels"]


def run(*command, **options):
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)


def version():
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def built(target, profile):
    """The program for a target; on Linux for every distribution since GLIBC."""
    tool, suffix = ("zigbuild", f".{GLIBC}") if target.endswith("linux-gnu") else ("build", "")
    run("cargo", tool, "--locked", "--profile", profile, "--package", "consilience-cli", "--target", target + suffix,
        cwd=ROOT)
    folder = "debug" if profile == "dev" else profile
    return TARGET / target / folder / ("consilience.exe" if "windows" in target else "consilience")


def tried(program):
    """The program fits, fuses and compares its embedded data."""
    with tempfile.TemporaryDirectory() as folder:
        run(program, "--version")
        run(program, "demo", cwd=folder, stdout=subprocess.DEVNULL)


def packed(program, target, out):
    """An archive with the program and the documents that belong to it."""
    name = f"consilience-{version()}-{target}"
    files = {program: program.name} | {ROOT / document: document for document in DOCUMENTS}
    out.mkdir(parents=True, exist_ok=True)
    if "windows" in target:
        archive = out / f"{name}.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as pack:
            for path, inside in files.items():
                pack.write(path, f"{name}/{inside}")
    else:
        archive = out / f"{name}.tar.gz"
        with tarfile.open(archive, "w:gz") as pack:
            for path, inside in files.items():
                pack.add(path, f"{name}/{inside}", filter=owned_by_nobody)
    return archive


def owned_by_nobody(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def program(given):
    path = built(given.target, given.profile)
    tried(path)
    print(packed(path, given.target, given.out))


def crates(_):
    """Compiles every crate from the files that would be published.

    Cargo does so outside of the workspace. With the workspace's profile for dependencies, those that other commands have
    compiled are used again. Our own crates are then forgotten: cargo takes a published version as unchangeable, and would
    not compile it again after a change.
    """
    profile = tomllib.loads((ROOT / "Cargo.toml").read_text())["profile"]["dev"]
    options = [f"debug={profile['debug']!r}", f"lto={profile['lto']!r}"]
    own = {path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")}
    options += [f"package.{name}.opt-level={entry['opt-level']}"
                for name, entry in profile["package"].items() if name not in own]
    configured = [part for option in options for part in ("--config", f"profile.dev.{option}")]
    started = time.time()
    forget_sources(own)
    try:
        run("cargo", *configured, "publish", "--dry-run", "--workspace", "--locked", "--allow-dirty", "--quiet", cwd=ROOT)
    finally:
        forget_sources(own)
        for name in own:
            for record in TARGET.glob(f"debug/.fingerprint/{name}-*"):
                if record.stat().st_mtime >= started:
                    shutil.rmtree(record)


def forget_sources(crates):
    """Removes the unpacked files of crates that look like published ones."""
    registry = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry"
    for name in crates:
        for folder in registry.glob(f"src/*/{name}-{version()}"):
            shutil.rmtree(folder)
        for archive in registry.glob(f"cache/*/{name}-{version()}.crate"):
            archive.unlink()


def test_wheel(given):
    """Installs the only wheel of a folder in a fresh environment and runs the tests of the package."""
    wheels = list(given.folder.glob("*.whl"))
    if len(wheels) != 1 or "-abi3-" not in wheels[0].name:
        sys.exit(f"{given.folder}: one wheel for all versions of Python is needed, found {[w.name for w in wheels]}")
    tests = ROOT / "bindings/python"
    chosen = [f"tests/test_{name}.py" for name in PORTABLE] if sys.platform != "linux" else \
        ["--ignore=tests/test_command_line.py"]
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = next(path for path in (Path(folder, "bin/python"), Path(folder, "Scripts/python.exe")) if path.exists())
        run(python, "-m", "pip", "install", "--quiet", "--requirement", tests / "requirements.txt", wheels[0].resolve())
        run(python, "-m", "pytest", "-p", "no:cacheprovider", *chosen, cwd=tests)


def checksums(given):
    """SHA256SUMS of a folder, in the form that `sha256sum --check` reads."""
    listed = given.folder / "SHA256SUMS"
    files = sorted(path for path in given.folder.iterdir() if path.is_file() and path != listed)
    if not files:
        sys.exit(f"{given.folder}: no files")
    listed.write_text("".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files))
    print(listed.read_text(), end="")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("program", help="build, try and pack the program")
    one.add_argument("target", help="a target of rustc, such as x86_64-unknown-linux-gnu")
    one.add_argument("--out", type=Path, default=Path("dist"))
    one.add_argument("--profile", default="release", help="profile of cargo")
    one.set_defaults(run=program)
    commands.add_parser("crates", help=crates.__doc__.splitlines()[0]).set_defaults(run=crates)
    for name, function in (("test-wheel", test_wheel), ("checksums", checksums)):
        other = commands.add_parser(name, help=function.__doc__.splitlines()[0])
        other.add_argument("folder", type=Path)
        other.set_defaults(run=function)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
