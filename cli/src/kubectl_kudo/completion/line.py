"""Reads an unfinished command line: which command it names, and what the last word is part of."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kubectl_kudo.session.arguments import GLOBAL_FLAGS, Flag
from kubectl_kudo.session.command import Command, Group


@dataclass(slots=True)
class Line:
    """The words before the one to complete.

    Attributes:
        node: The command, or the group where a command is still to be named.
        flags: The known flags with their values, as they were typed.
        arguments: The positional arguments.
        open: The flag whose value the next word is.
        ended: Whether `--` has ended the flags.
    """

    node: Command | Group
    flags: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    open: Flag | None = None
    ended: bool = False

    def known_flags(self) -> tuple[Flag, ...]:
        """Return the flags that can be given here."""
        own = self.node.flags if isinstance(self.node, Command) else ()
        return (*own, *GLOBAL_FLAGS)

    def flag(self, name: str) -> Flag | None:
        """Return the flag of a name, None if there is none."""
        return next((flag for flag in self.known_flags() if name in flag.names), None)


def read(root: Group, words: Iterable[str]) -> Line | None:
    """Return what the words say; None if they name no command."""
    line = Line(root)
    for word in words:
        if line.open is not None:
            line.flags.append(word)
            line.open = None
        elif line.ended:
            line.arguments.append(word)
        elif word == "--" and isinstance(line.node, Command):
            line.ended = True
        elif word.startswith("-") and word != "-":
            _add_flag(line, word)
        elif isinstance(line.node, Command):
            line.arguments.append(word)
        elif (name := line.node.aliases.get(word, word)) in line.node.members:
            line.node = line.node.member(name)
        else:
            return None
    if line.open is not None:
        line.flags.pop()
    return line


def _add_flag(line: Line, word: str) -> None:
    name, equals, _ = word.partition("=")
    flag = line.flag(name)
    if flag is None:
        # `-pNAME=value`: a short flag with its value. What is unknown is left out: the command
        # itself will say so.
        short = None if word.startswith("--") else line.flag(word[:2])
        if short is not None and short.value:
            line.flags.append(word)
        return
    line.flags.append(word)
    if flag.value and not equals:
        line.open = flag
