"""Folders of the repository that the site is built from."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BUILD = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
PROGRAMS = BUILD / "debug"
DATA = DOCS / "data"
