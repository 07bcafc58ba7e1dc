"""The directive `command-help`: a section for every command of the program, from its own help."""

import re
import subprocess

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from site_paths import PROGRAMS

SKIPPED = {"help"}


def printed_help(*command):
    """What `consilience help COMMAND` prints."""
    done = subprocess.run([PROGRAMS / "consilience", "help", *command], check=True, text=True, stdout=subprocess.PIPE)
    return re.sub(r"[ \t]+$", "", done.stdout, flags=re.MULTILINE).rstrip()


def commands():
    """Names of all commands with their descriptions."""
    listed = re.search(r"^Commands:\n(.*?)\n\n", printed_help(), re.MULTILINE | re.DOTALL)[1]
    found = (line.split(maxsplit=1) for line in listed.splitlines())
    return [(name, text) for name, text in found if name not in SKIPPED]


class CommandHelp(SphinxDirective):
    """Sections with the help of the program and of its commands."""

    def run(self):
        sections = [self.section("consilience", printed_help())]
        sections += [self.section(f"consilience {name}", printed_help(name)) for name, _ in commands()]
        return sections

    def section(self, title, text):
        name = title.replace(" ", "-")
        section = nodes.section(ids=[name], names=[title])
        section += nodes.title(text=title)
        first, _, rest = text.partition("\n\n")
        section += nodes.paragraph(text=first + ".")
        section += nodes.literal_block(rest, rest, language="text", classes=["command-help"])
        self.state.document.note_implicit_target(section)
        return section


def setup(app):
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
