"""The kubectl plugin of KUDO: `kubectl kudo <command>`.

One module for each command; `catalogue` lists them. Data goes to stdout, talk to stderr. A command
imports what it needs when it runs, so that `--help` and `version` answer at once.
"""

__version__ = "0.1.0"
