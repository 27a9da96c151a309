"""The kubectl plugin of KUDO: `kubectl kudo <command>`.

`catalogue` lists the commands; a package for each family of them holds what they do. Data goes to
stdout, talk to stderr. A command imports what it needs when it runs, so that `--help` and `version`
answer at once.
"""

__version__ = "0.1.0"
