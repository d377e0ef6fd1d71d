"""Sphinx settings. ``make docs`` builds the pages and runs the gallery; warnings are errors."""

from importlib.metadata import version as _version

project = "uca"
author = "the uca developers"
copyright = "the uca developers"
release = _version("unique-component-analysis")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = "uca: what one dataset has and others do not"
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
autodoc_typehints = "none"
suppress_warnings = ["config.cache", "myst.xref_missing"]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "abort_on_example_error": True,
    "show_memory": False,
    "download_all_examples": False,
    "reset_modules": ("matplotlib",),
}
