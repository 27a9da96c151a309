"""Declares commands and groups as data, and finds a command by the words of the command line.

A command is the `COMMAND` of its module, which is imported when the words name it. Only a flag
before the words that is not a global one imports them all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import islice

from kubectl_kudo.session.arguments import GLOBAL_FLAGS, INSTANCE, Args, Flag, Parser
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.names import closest

PROGRAM = "kubectl-kudo"


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    Attributes:
        run: Runs it.
        arguments: The positional arguments in the usage line. If they begin with `[instance]`, and
            if there are none, a command with the flag `--instance` takes the name by position, too.
        flags: Its own flags.
        required: Attributes of the flags that must be given.
        more: Further sentences of the help.
        examples: Command lines, each with a comment above it.
        name: Its words after the program's name; from the catalogue.
        summary: One sentence, the first of the help; from the catalogue.
    """

    run: Callable[[Args], None]
    arguments: str = ""
    flags: tuple[Flag, ...] = ()
    required: tuple[str, ...] = ()
    more: str = ""
    examples: tuple[tuple[str, str], ...] = ()
    name: str = ""
    summary: str = ""

    @property
    def names_instance(self) -> bool:
        """Whether the name of an Instance may be given by position as well as by `--instance`."""
        return INSTANCE in self.flags and self.usage.startswith("[instance]")

    @property
    def usage(self) -> str:
        """The arguments and flags in the usage line."""
        arguments = self.arguments or ("[instance]" if INSTANCE in self.flags else "")
        return f"{arguments} [flags]".lstrip()

    def parser(self) -> Parser:
        words = f"{PROGRAM} {self.name}"
        description = "\n\n".join(filter(None, (self.summary, self.more)))
        examples = [f"  # {comment}\n  kubectl kudo {line}" for comment, line in self.examples]
        return Parser(
            words,
            self.flags,
            usage=f"{words} {self.usage}",
            description=description,
            epilog="\n\n".join(["examples:", *examples]) if examples else "",
        )

    def take_instance(self, args: Args) -> None:
        """Take the name of an Instance from its position.

        Raises:
            UsageError: more than one Instance is named.
        """
        if not (self.names_instance and args.arguments):
            return
        # The same name given twice is no contradiction.
        named = dict.fromkeys([*filter(None, [args.instance]), *args.arguments])
        if len(named) > 1:
            text = f"{self.name} takes one instance, not {' and '.join(named)}"
            names_plan = any(flag.attribute == "name" for flag in self.flags)
            hint = "; name the plan with --name=<planName>" if names_plan else ""
            raise UsageError(text + hint)
        [args.instance], args.arguments = named, []

    def check(self, args: Args) -> None:
        """Raise UsageError if a required flag is missing."""
        missing = [f'"{name}"' for name in self.required if not getattr(args, name)]
        if missing:
            raise UsageError(f"required flag(s) {', '.join(missing)} not set")


@dataclass(frozen=True, slots=True)
class Entry:
    """A command in the catalogue: all that the help of its group shows of it.

    Attributes:
        module: The module of the command, within `kubectl_kudo`.
        summary: One sentence.
    """

    module: str
    summary: str

    def load(self, name: str) -> Command:
        """Import the module, and return its command with this name."""
        # Imported now and not at the top: one command would wait for the imports of all.
        command: Command = import_module(f"kubectl_kudo.{self.module}").COMMAND
        return replace(command, name=name, summary=self.summary)


@dataclass(frozen=True, slots=True)
class Group:
    """Commands under the same words; the root has none.

    Attributes:
        name: The words.
        summary: One sentence.
        members: Commands and groups by their words.
        aliases: Other words for members.
    """

    name: str
    summary: str
    members: dict[str, "Entry | Group"] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def member(self, word: str) -> "Command | Group":
        """Return the group or command of a word; imports a command."""
        member = self.members[word]
        if isinstance(member, Group):
            return member
        return member.load(f"{self.name} {word}".lstrip())

    def help(self) -> str:
        words = " ".join(filter(None, (PROGRAM, self.name)))
        width = max(map(len, self.members))
        rows = [f"  {word:<{width}}  {member.summary}" for word, member in self.members.items()]
        parser = Parser(
            words,
            usage=f"{words} <command> [flags]",
            description="\n".join([self.summary, "", "commands:", *rows]),
            epilog=f"Run `{words} <command> --help` for details and examples.",
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
    words = iter(argv)
    for word in words:
        # What follows is the command's own, also if it looks like another word.
        if isinstance(node, Command) or word == "--":
            return node, [*rest, word, *words]
        if word.startswith("-") and word != "-":
            rest.append(word)
            # Otherwise its value would be taken for a word of the command.
            if _takes_value(root, word):
                rest.extend(islice(words, 1))
        elif (name := node.aliases.get(word, word)) in node.members:
            node = node.member(name)
        else:
            group = " ".join(filter(None, (PROGRAM, node.name)))
            lines = [f'unknown command "{word}" for "{group}"']
            close = closest(word, node.members, most=3)
            if close:
                lines += ["", "Did you mean this?", *(f"\t{name}" for name in close), ""]
            raise UsageError("\n".join([*lines, f"Run '{group} --help' for usage."]))
    return node, rest


def _takes_value(root: Group, word: str) -> bool:
    """Return whether a flag before the words of the command has its value in the next word."""
    for flag in GLOBAL_FLAGS:
        if word in flag.names:
            return bool(flag.value)
    # The command is not known yet, so it could be a flag of any of them.
    return "=" not in word and word in _flags_with_value(root)


def _flags_with_value(group: Group) -> set[str]:
    """Return the names of all flags of commands whose value is the next word."""
    names: set[str] = set()
    for member in map(group.member, group.members):
        if isinstance(member, Group):
            names |= _flags_with_value(member)
        else:
            names |= {name for flag in member.flags if flag.value for name in flag.names}
    return names
