"""Settings of Sphinx for the pages that tools/docs.py copies; `make docs` builds them."""

project = "KUDO"
html_title = "KUDO"
extensions = ["myst_parser"]
html_theme = "furo"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
# Headings have the anchors that the view of the repository gives them.
myst_heading_anchors = 6
# Blocks without a language are commands, tables and drawings.
highlight_language = "none"
suppress_warnings = [
    # Templates of Go within YAML, and parts of files.
    "misc.highlighting_failure",
]
