"""Builds the playground: the library for WebAssembly and the page that holds it, in one file.

    python3 playground/build.py

The page is playground/dist/index.html. It opens from a disk or a server and loads nothing else.
"""

import base64
import gzip
import os
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PROFILE = os.environ.get("PLAYGROUND_PROFILE", "playground")
MODULE = TARGET / "wasm32-unknown-unknown" / PROFILE / "consilience_playground.wasm"


def build_library() -> bytes:
    subprocess.run(
        ["cargo", "build", "--quiet", "--locked", "--package", "consilience-playground", "--profile", PROFILE,
         "--target", "wasm32-unknown-unknown"],
        cwd=ROOT, check=True,
    )
    return MODULE.read_bytes()


def version() -> str:
    return re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]


def page(library: bytes) -> str:
    """The template with every {{name}} replaced by that file, the version or the library."""
    values = {"library": base64.b64encode(gzip.compress(library, mtime=0)).decode(), "version": version()}

    def value(match: re.Match) -> str:
        name = match[1]
        return values[name] if name in values else (HERE / name).read_text().strip()

    return re.sub(r"{{([\w.]+)}}", value, (HERE / "page.html").read_text())


def main() -> None:
    library = build_library()
    output = HERE / "dist" / "index.html"
    output.parent.mkdir(exist_ok=True)
    output.write_text(page(library))
    print(f"{output.relative_to(ROOT)}: {output.stat().st_size / 1e6:.1f} MB, library {len(library) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
