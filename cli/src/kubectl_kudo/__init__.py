"""The kubectl plugin of KUDO: `kubectl kudo <command>`.

`catalogue` lists the commands. Flags, help and examples of a command are in its module, which is
named after what people type: `plan status` is `commands.plan.status`. Data goes to stdout, messages
to stderr. A command imports what it needs when it runs, so that `--help` and `version` start fast.
"""

__version__ = "0.1.0"
