"""Makes argv and environment of the commands and collectors of a suite; starts nothing."""

from kudo_harness.commands.collecting import collecting_command
from kudo_harness.commands.process import CommandInvalid, Context, Process, process_of

__all__ = [
    "CommandInvalid",
    "Context",
    "Process",
    "collecting_command",
    "process_of",
]
