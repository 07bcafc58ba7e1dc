"""The documentation site. `make docs` builds it in target/site/html."""

import hashlib
import os
import shutil
import sys
from importlib.metadata import files, version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
from site_paths import BUILD, PROGRAMS, ROOT  # noqa: E402

project = "Consilience"
author = "the Consilience developers"
version = release = installed_version("consilience")
html_title = "Consilience"
language = "en-GB"

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "outside_links",
    "run_console",
    "command_help",
    "home_figure",
    "finished_site",
]
exclude_patterns = ["data", "requirements.txt"]
nitpicky = False
suppress_warnings = ["mystnb.unknown_mime_type"]

# Markdown: formulas in dollars, and anchors for headings as on a forge.
myst_enable_extensions = ["colon_fence", "dollarmath", "attrs_inline", "attrs_block", "substitution"]
myst_heading_anchors = 4
myst_url_schemes = {"http": None, "https": None, "mailto": None, "site": None}

# Pages with Python cells are executed. Results are kept as long as neither the cells nor the library change.
os.environ["PATH"] = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
os.environ["NO_COLOR"] = "1"
os.environ["CONSILIENCE_ROOT"] = str(ROOT)  # for pages that draw tables of experiments
# Plots are vector graphics; a warning shows its text without the path of a temporary file.
startup = BUILD / "site" / "ipython" / "profile_default" / "startup" / "site.py"
startup.parent.mkdir(parents=True, exist_ok=True)
startup.write_text("""\
import warnings

warnings.formatwarning = lambda message, category, *_, **__: f"{category.__name__}: {message}\\n"
get_ipython().run_line_magic("config", 'InlineBackend.figure_formats = ["svg"]')
""")
os.environ["IPYTHONDIR"] = str(BUILD / "site" / "ipython")


def library_digest():
    """A short digest of the compiled library and of the program."""
    digest = hashlib.sha256()
    library = [file.locate() for file in files("consilience") if file.suffix in {".so", ".py", ".pyd"}]
    for path in sorted([*library, PROGRAMS / "consilience"]):
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()[:16]


nb_execution_mode = "cache"
nb_execution_cache_path = str(BUILD / "site" / "cache" / library_digest())
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

# The Python reference. What scikit-learn adds to every estimator is documented there.
def inherited_methods():
    """Names of methods that come with every scikit-learn classifier."""
    from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

    return sorted({name for base in (BaseEstimator, ClassifierMixin, TransformerMixin) for name in dir(base)})


autosummary_generate = True
autosummary_context = {"inherited": inherited_methods()}
autodoc_typehints = "none"
default_role = "literal"  # single backticks in docstrings
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Formulas: one file of MathJax that needs no fonts and no network.
mathjax_path = "mathjax/tex-svg.js"
mathjax3_config = {"svg": {"fontCache": "global", "scale": 0.95}, "options": {"enableMenu": False}}
mathjax_file = next(file for file in files("sphinx-mathjax-offline") if file.name == "tex-svg.js").locate()
(BUILD / "site" / "static" / "mathjax").mkdir(parents=True, exist_ok=True)
shutil.copyfile(mathjax_file, BUILD / "site" / "static" / "mathjax" / "tex-svg.js")

copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static", str(BUILD / "site" / "static")]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {name: [] for name in ["index", "which-method", "gallery", "changelog", "citing", "playground"]}
html_theme_options = {
    "logo": {"image_light": "_static/logo-light.svg", "image_dark": "_static/logo-dark.svg", "alt_text": "Consilience"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copyright = f"the Consilience developers; MIT or Apache-2.0. Version {version}"
