"""A command and a group of commands, as data; and how the words of the command line find them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module

from kubectl_kudo.core.arguments import GLOBAL_FLAGS, Args, Flag, Parser
from kubectl_kudo.core.errors import UsageError

PROGRAM = "kubectl-kudo"


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    Attributes:
        name: Its words after the program's name.
        summary: One sentence; the first of the help.
        module: Module of this package whose `run` does it; imported when it is wanted.
        arguments: How the positional arguments look in the usage line.
        flags: Its own flags.
        required: Flags without which it cannot run, by attribute.
        more: Further sentences of the help.
        examples: Command lines, each with a comment above it.
    """

    name: str
    summary: str
    module: str
    arguments: str = ""
    flags: tuple[Flag, ...] = ()
    required: tuple[str, ...] = ()
    more: str = ""
    examples: tuple[tuple[str, str], ...] = ()

    def parser(self) -> Parser:
        words = f"{PROGRAM} {self.name}"
        usage = " ".join(filter(None, (words, self.arguments, "[flags]")))
        description = "\n\n".join(filter(None, (self.summary, self.more)))
        return Parser(
            words, self.flags, usage=usage, description=description, epilog=self._examples()
        )

    def check(self, args: Args) -> None:
        """Raise UsageError if a required flag is missing."""
        missing = [f'"{name}"' for name in self.required if not getattr(args, name)]
        if missing:
            raise UsageError(f"required flag(s) {', '.join(missing)} not set")

    def run(self, args: Args) -> None:
        import_module(f"kubectl_kudo.{self.module}").run(args)

    def _examples(self) -> str:
        shown = [f"  # {comment}\n  kubectl kudo {line}" for comment, line in self.examples]
        return "\n\n".join(["examples:", *shown]) if shown else ""


@dataclass(frozen=True, slots=True)
class Group:
    """Commands under one word; the root has none."""

    name: str
    summary: str
    members: dict[str, "Command | Group"] = field(default_factory=dict)

    def help(self) -> str:
        words = " ".join(filter(None, (PROGRAM, self.name)))
        width = max(map(len, self.members))
        rows = [f"  {word:<{width}}  {one.summary}" for word, one in self.members.items()]
        parser = Parser(
            words,
            usage=f"{words} <command> [flags]",
            description="\n".join([self.summary, "", "commands:", *rows]),
            epilog=f"`{words} <command> --help` tells more, with examples.",
        )
        return parser.format_help()


Found = tuple[Command | Group, list[str]]


def find(root: Group, argv: Sequence[str]) -> Found:
    """Return the command that the words name, and the command line without them.

    Raises:
        UsageError: a word names no command.
    """
    node: Command | Group = root
    rest: list[str] = []
    valued = _flags_with_value(root)
    words = iter(argv)
    for word in words:
        if isinstance(node, Command) or word == "--":
            return node, [*rest, word, *words]
        if word.startswith("-") and word != "-":
            rest.append(word)
            if word in valued:
                rest.extend(_one(words))
        elif word in node.members:
            node = node.members[word]
        else:
            raise UsageError(_unknown(node, word))
    return node, rest


def _one(words: Iterator[str]) -> Iterator[str]:
    for word in words:
        yield word
        return


def _flags_with_value(group: Group) -> set[str]:
    """Return the names of all flags whose value is the next word."""
    found = {name for flag in GLOBAL_FLAGS if flag.value for name in flag.names}
    for member in group.members.values():
        if isinstance(member, Group):
            found |= _flags_with_value(member)
        else:
            found |= {name for flag in member.flags if flag.value for name in flag.names}
    return found


def _unknown(group: Group, word: str) -> str:
    from difflib import get_close_matches

    words = " ".join(filter(None, (PROGRAM, group.name)))
    lines = [f'unknown command "{word}" for "{words}"']
    close = get_close_matches(word, group.members)
    if close:
        lines += ["", "Did you mean this?", *(f"\t{name}" for name in close), ""]
    return "\n".join([*lines, f"Run '{words} --help' for usage."])
