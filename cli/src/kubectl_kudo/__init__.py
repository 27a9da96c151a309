"""The kubectl plugin of KUDO: `kubectl kudo <command>`.

`catalogue` lists the commands. The flags, help and examples of each stand in a module of its name,
in the package of its family: `plan status` is `plans.status`. Data goes to stdout, talk to stderr.
A command imports what it needs when it runs, so that `--help` and `version` answer at once.
"""

__version__ = "0.1.0"
