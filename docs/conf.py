from importlib import import_module

project = "committee"
author = "the committee developers"
copyright = "2026, the committee developers"
release = import_module("committee").__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "myst_parser",
    "numpydoc",
    "sphinxcontrib.bibtex",
    "sphinx_gallery.gen_gallery",
]
# The gallery scripts are run when the pages are built.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "within_subsection_order": "FileNameSortKey",
    "matplotlib_animations": True,
    "image_scrapers": ("matplotlib",),
    "download_all_examples": False,
    "show_memory": False,
    "abort_on_example_error": True,
}
# All pages are at one level, so the section sidebar would be empty.
html_sidebars = {"**": []}
bibtex_bibfiles = ["references.bib"]
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"
# Docstrings inherited from scikit-learn refer to pages of scikit-learn's documentation.
suppress_warnings = ["ref.ref", "ref.term"]
html_theme = "pydata_sphinx_theme"
html_title = "committee"
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py"]
