import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

library = import_module("extensions.library")
reference = import_module("extensions.reference")
generated = import_module("extensions.generated")
lab_scenes = import_module("extensions.lab_scenes")

project = "committee"
author = "the committee developers"
copyright = "2026, the committee developers"
release = import_module("committee").__version__

# Pages that are made from other files: the reference from the public names, benchmarks from their results.
reference.write_reference(HERE / "reference")
generated.write_pages(HERE)
library.forget_stale_gallery(HERE / "gallery")
lab_scenes.write_scenes(HERE / "scenes" / "lab")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "myst_parser",
    "numpydoc",
    "sphinxcontrib.bibtex",
    "sphinx_gallery.gen_gallery",
    "extensions.executed",
    "extensions.generated",
    "extensions.links",
    "extensions.mathml",
    "extensions.reference",
]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "mathml"
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
    "write_computation_times": False,
    "capture_repr": (),
    "show_signature": False,
}
toc_object_entries_show_parents = "hide"
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"
suppress_warnings = [
    # Docstrings inherited from scikit-learn refer to pages of scikit-learn's documentation.
    "ref.ref",
    "ref.term",
]
html_theme = "pydata_sphinx_theme"
html_title = "committee"
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["lab_frames.js", "version_menu.js"]
html_extra_path = ["scenes"]
html_context = {"default_mode": "auto"}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 8,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_prev_next": True,
    "navbar_end": ["version-menu", "theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": [], "lab": []}
exclude_patterns = ["_build", "runs", "scenes", "gallery/*.ipynb", "gallery/*.py", "sg_execution_times.rst"]
