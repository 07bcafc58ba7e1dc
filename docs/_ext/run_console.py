"""Runs the `console` blocks of the pages against the built program, and finds code that nothing runs.

A block contains commands after `$ `; the site shows them with what they print. The blocks of a page run one after
another in a folder with the tables of docs/data. Blocks of the directive `setup` run without being shown. `python`
blocks of a page that is no notebook run together as one script in the same folder.

`pycon` blocks need data that are not part of the repository. Their outputs are stored in the page, and checked where the
data are: in the folder that the environment variable CONSILIENCE_DATA names, or else in `../shared/data` beside the project.
"""

import doctest
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from unittest.mock import patch

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from site_paths import DATA, DOCS, PROGRAMS, ROOT

log = logging.getLogger(__name__)
PHOTOS = ROOT / "crates" / "consilience-cli" / "demo" / "photos.csv"
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)
RUNNABLE = {"bash", "console", "pycon", "python", "python3", "ipython3", "r", "rust", "sh", "shell"}
DOCTEST = re.compile(r'include_str!\("(?:\.\./)+(docs/[^"]+)"\)')


class setup_commands(nodes.General, nodes.Element):
    """Commands that are run and not shown."""


class Setup(Directive):
    """Shell commands that run without being shown."""

    has_content = True

    def run(self):
        return [setup_commands(commands="\n".join(self.content))]


def outer_classes(node):
    """Classes of a node and of all nodes around it."""
    found = set()
    while node is not None:
        found.update(node.get("classes", []) if isinstance(node, nodes.Element) else [])
        node = node.parent
    return found


def run(command, folder):
    """What a command prints, and its exit code."""
    environment = {
        **os.environ, "NO_COLOR": "1", "COLUMNS": "100",
        "PATH": os.pathsep.join(map(str, [PROGRAMS, PROGRAMS / "examples", Path(sys.executable).parent, os.environ["PATH"]])),
    }
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, text=True, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    return done.stdout.rstrip(), done.returncode


class RunConsole(SphinxTransform):
    """Replaces the output of every console block by what its commands print now."""

    default_priority = 5

    def apply(self, **_):
        blocks = list(self.document.findall(self.wanted))
        self.script = []
        if not blocks:
            return
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(DATA, folder, dirs_exist_ok=True)
            shutil.copy(PHOTOS, folder)
            Path(folder, "examples").symlink_to(ROOT / "examples")
            for node in blocks:
                self.run_block(node, folder)
            self.run_python(folder)

    @staticmethod
    def wanted(node):
        return isinstance(node, setup_commands) or (
            isinstance(node, nodes.literal_block) and node.get("language") in {"console", "python"}
            and not outer_classes(node) & {"not-run", "cell_input"} and not node.get("source", "").endswith(".py")
        )

    def run_block(self, node, folder):
        if isinstance(node, setup_commands):
            self.checked(node["commands"], folder, node, 0)
            node.parent.remove(node)
            return
        if node["language"] == "python":
            self.script.append(node)
            return
        # A block of the class `fails` shows how the program reports an error.
        expected = 1 if "fails" in node["classes"] else 0
        lines = []
        for command in COMMAND.findall(node.astext()):
            lines += [f"$ {command}", *self.checked(command, folder, node, expected).splitlines()]
        node.rawsource = "\n".join(lines)
        node.children = [nodes.Text(node.rawsource)]

    def run_python(self, folder):
        """Runs the Python blocks of the page."""
        if self.script:
            Path(folder, "page.py").write_text("\n".join(node.astext() for node in self.script))
            self.checked("python page.py", folder, self.script[0], 0)

    def checked(self, command, folder, node, expected):
        printed, code = run(command, folder)
        if code != expected:
            log.warning("`%s` ended with exit code %s:\n%s", command, code, printed, location=node)
        return printed


def check_stored(app, doctree):
    """Runs the `pycon` blocks of a page as a doctest, if the data are there."""
    blocks = [n.astext() for n in doctree.findall(nodes.literal_block) if n.get("language") == "pycon"]
    folder = os.environ.get("CONSILIENCE_DATA", str(ROOT.parent / "shared" / "data"))
    if not blocks or not Path(folder).is_dir():
        return
    test = doctest.DocTestParser().get_doctest("\n\n".join(blocks), {}, app.env.docname, None, 0)
    report = []
    with warnings.catch_warnings(action="ignore"), patch.dict(os.environ, CONSILIENCE_DATA=folder):
        doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    if report:
        log.warning("stored outputs are not current:\n%s", "".join(report), location=app.env.docname)


def doctested_pages():
    """Pages whose Rust blocks are documentation tests of a crate."""
    sources = (path.read_text() for path in ROOT.glob("crates/*/src/**/*.rs"))
    return {match for text in sources for match in DOCTEST.findall(text)}


def is_run(node, page):
    """Whether a block of code is executed: by this module, as a cell of a notebook, or as a documentation test."""
    language = node.get("language")
    return (
        language in {"console", "python", "pycon"} or outer_classes(node) & {"cell_input", "not-run"}
        or (language == "rust" and page in doctested_pages())
        # Included files: cargo compiles examples, and the tests of Python run those in Python.
        or node.get("source", "").endswith((".rs", ".py"))
    )


def find_code_not_run(app, doctree):
    """Warns of code that is never executed. The class `not-run` marks what cannot be, such as installing."""
    page = Path(app.env.doc2path(app.env.docname)).relative_to(DOCS.parent).as_posix()
    # Doctests of the Python package, and records of experiments that take hours.
    if page.startswith(("docs/reference/api/", "docs/evidence/")):
        return
    for node in doctree.findall(nodes.literal_block):
        if node.get("language") in RUNNABLE and not is_run(node, page):
            log.warning("this block of %s is never run", node["language"], location=node)


def setup(app):
    app.add_directive("setup", Setup)
    app.add_node(setup_commands)
    app.add_transform(RunConsole)
    app.connect("doctree-read", check_stored)
    app.connect("doctree-read", find_code_not_run)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
