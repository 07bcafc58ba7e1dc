"""Completes the site after the pages are written, and checks every link within it.

Adds the Rust pages, the playground if it was built, and copies of files of the repository that pages link to.
"""

import re
import shutil
from html import unescape
from pathlib import Path
from urllib.parse import unquote

from sphinx.errors import SphinxError

from site_paths import BUILD, ROOT

LINK = re.compile(r'(?:href|src|srcset)="([^"]+)"')
ANCHOR = re.compile(r'\bid="([^"]+)"')


def links(page):
    """Links of a page to files of the site: path from the page, and anchor."""
    for link in set(LINK.findall(page.read_text())):
        if not re.match(r"[a-z]+:|//", link):
            path, _, anchor = unescape(link).partition("#")
            yield unquote(path.partition("?")[0]), unquote(anchor)


def copy_source(site, target):
    """Copies a file of the repository that a page links to."""
    place = ROOT / target.relative_to(site / "source")
    if place.exists() and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if place.is_dir() else shutil.copyfile)(place, target)


def broken(site, page, anchors):
    """Links of a page that lead nowhere."""
    for path, anchor in links(page):
        target = (page.parent / path).resolve() if path else page
        if target.is_relative_to(site / "source"):
            copy_source(site, target)
        if target.is_dir() and (target / "index.html").exists():
            target /= "index.html"
        if not target.exists():
            yield f"{page.relative_to(site)}: {path} is no file of the site"
        elif anchor and target.suffix == ".html":
            if target not in anchors:
                anchors[target] = set(ANCHOR.findall(target.read_text()))
            if anchor not in anchors[target]:
                yield f"{page.relative_to(site)}: {path} has no place #{anchor}"


def finish(app, error):
    """Completes the site and checks it."""
    if error or app.builder.name != "html":
        return
    site = Path(app.outdir).resolve()
    written = [site / f"{docname}.html" for docname in app.env.all_docs]
    for built, name in [(BUILD / "doc", "rust"), (ROOT / "playground" / "dist", "playground")]:
        if built.exists():
            shutil.copytree(built, site / name, dirs_exist_ok=True)
    anchors = {}
    problems = [problem for page in written for problem in broken(site, page, anchors)]
    if problems:
        raise SphinxError("links within the site are broken:\n" + "\n".join(sorted(problems)))


def setup(app):
    app.connect("build-finished", finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
