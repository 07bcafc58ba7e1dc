"""Links and includes that leave docs.

Pages link to other places of the repository by relative paths, so that they can be read without the site. On the
site, such a link leads to the page that shows the place, to the generated Rust pages, or to a copy of the file, which
`finished_site` makes. A link `site:path` leads to a file of the finished site.
"""

import os
import re
from pathlib import Path

from docutils import nodes
from sphinx.util import logging
from sphinx.util.osutil import relative_uri

from site_paths import DOCS, ROOT

log = logging.getLogger(__name__)

# Places of the repository, and the page of the site that shows them.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "experiments/README.md": "evidence/conventions.md",
    "bindings/python/README.md": "reference/python.md",
}
INCLUDE = re.compile(r"^```\{include\} (\S+)\n```$", re.MULTILINE)
CODE = re.compile(r"(^ *```.*?^ *```|`[^`\n]*`)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
ABSOLUTE = re.compile(r"[a-z]+:|#|/")


def page_of(place):
    """The page of the site that shows a place of the repository, or None."""
    name = place.relative_to(ROOT).as_posix()
    if place.is_dir():
        return page_of(place / "README.md") if (place / "README.md").exists() else None
    if place.is_relative_to(DOCS):
        return place if place.suffix == ".md" else None
    parts = Path(name).parts
    if parts[0] == "experiments" and parts[2:] == ("README.md",):
        page = DOCS / "evidence" / f"{parts[1]}.md"
        return page if page.exists() else None
    return DOCS / PAGES[name] if name in PAGES else None


def rewritten(link, written_in, page):
    """The link of a file of the repository as it should be on a page of the site."""
    path, _, anchor = link.partition("#")
    if ABSOLUTE.match(link):
        return link
    place = (written_in.parent / path).resolve()
    if not place.exists():
        log.warning("link to %s, which does not exist", link, location=str(page))
        return link
    name = place.relative_to(ROOT).as_posix()
    shown = page_of(place)
    if shown:
        return os.path.relpath(shown, page.parent) + (f"#{anchor}" if anchor else "")
    if place.suffix in {".svg", ".png"}:
        return os.path.relpath(place, page.parent)
    if name.startswith("crates/") and place.is_dir():
        return f"site:rust/{place.name.replace('-', '_')}/index.html"
    return f"site:source/{name}"


def with_links(text, written_in, page):
    """The text with all its links rewritten; code is left alone."""
    def link(match):
        return match[1] + rewritten(match[2], written_in, page) + match[3]

    pieces = CODE.split(text)
    pieces[::2] = [LINK.sub(link, piece) for piece in pieces[::2]]
    return "".join(pieces)


def read_page(app, docname, content):
    """Inserts included files and rewrites links."""
    page = Path(app.env.doc2path(docname))
    if page.suffix != ".md":
        return

    def include(match):
        place = (page.parent / match[1]).resolve()
        app.env.note_dependency(str(place))
        return with_links(place.read_text(), place, page)

    pieces = INCLUDE.split(with_links(content[0], page, page))
    # Every second piece is the name of an included file.
    for i in range(1, len(pieces), 2):
        pieces[i] = include(["", pieces[i]])
    content[0] = "".join(pieces)


def resolve(app, doctree, docname):
    """Makes `site:` links relative to the page."""
    for node in doctree.findall(nodes.reference):
        target = node.get("refuri", "")
        if target.startswith("site:"):
            node["refuri"] = relative_uri(app.builder.get_target_uri(docname), target.removeprefix("site:"))


def setup(app):
    app.connect("source-read", read_page)
    app.connect("doctree-resolved", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
