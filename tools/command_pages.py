"""Writes docs/cli/: a page for each command of `kubectl kudo`, their list, and the exit codes.

    python -m tools.command_pages [--check]

With `--check` nothing is written: what is stale is named, and the exit code is 1.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from kubectl_kudo.catalogue import ROOT
from kubectl_kudo.session.arguments import GLOBAL_FLAGS, Flag
from kubectl_kudo.session.command import Command, Group
from kubectl_kudo.session.errors import ExitCode

PAGES: Final = Path(__file__).parents[1] / "docs" / "cli"
_PLUGIN: Final = "kubectl kudo"
_FIRST: Final = "<!-- Written by tools/command_pages.py: `make reference` after a change. -->"


def pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    return {
        "README.md": _index(),
        "exit-codes.md": _exit_codes(),
        **{_name(command): _page(command) for command in commands(ROOT)},
    }


def commands(group: Group) -> Iterator[Command]:
    """Yield the commands of a group and of the groups within it, in the order of the help."""
    for word in group.members:
        member = group.member(word)
        if isinstance(member, Group):
            yield from commands(member)
        else:
            yield member


def _name(command: Command) -> str:
    return f"{command.name.replace(' ', '-')}.md"


def _index() -> str:
    return _joined(
        _FIRST,
        "# Commands",
        ROOT.summary,
        *_lists(ROOT),
        "## Global flags",
        "They are flags of every command, and may stand before its words.",
        _flags(GLOBAL_FLAGS),
        "What commands end with: [exit codes](exit-codes.md). Completion, colours and output:\n"
        "[Shells and scripts](../shell.md).",
    )


def _lists(group: Group) -> Iterator[str]:
    """Yield a table of the commands of a group itself, then those of the groups within it."""
    own = [member for member in map(group.member, group.members) if isinstance(member, Command)]
    if own:
        rows = ((f"[`{command.name}`]({_name(command)})", command.summary) for command in own)
        yield _table(("Command", ""), rows)
    for word in group.members:
        member = group.member(word)
        if isinstance(member, Group):
            yield f"## {member.name}"
            yield member.summary
            yield from _lists(member)


def _page(command: Command) -> str:
    usage = f"{_PLUGIN} {command.name} {command.usage}"
    shown = [f"# {comment}\n{_PLUGIN} {line}" for comment, line in command.examples]
    return _joined(
        _FIRST,
        f"# {_PLUGIN} {command.name}",
        _prose(command.summary),
        f"```\n{usage}\n```",
        _prose(command.more),
        "## Examples" if shown else "",
        "```\n" + "\n\n".join(shown) + "\n```" if shown else "",
        "## Flags",
        _flags(command.flags, command.required) if command.flags else "It has none of its own.",
        "The [global flags](README.md#global-flags) are flags of it as well.",
    )


def _flags(flags: Iterable[Flag], required: Sequence[str] = ()) -> str:
    rows = (
        (
            f"`{', '.join(sorted(flag.names, key=len))}{f' {flag.value}' if flag.value else ''}`",
            _prose(flag.help) + (" (required)" if flag.attribute in required else ""),
        )
        for flag in flags
    )
    return _table(("Flag", ""), rows)


def _prose(text: str) -> str:
    """Return a text of the help as Markdown: `<name>` is no HTML."""
    parts = text.split("`")
    # Every second part is code, in which Markdown takes it literally.
    parts[::2] = (part.replace("<", "\\<") for part in parts[::2])
    return "`".join(parts)


def _exit_codes() -> str:
    rows = [(str(code.value), code.meaning) for code in ExitCode]
    return _joined(
        _FIRST,
        "# Exit codes",
        "KUDO 0.19 ended with 255 after every error. Here 255 is what fits none of the others, so\n"
        "that a script which tests for non-zero works as before.",
        _table(("Code", "Meaning"), rows),
        "An error that has another error as its cause has the code of that one: an installation\n"
        "that the webhook denies ends with the code of a denial.",
    )


def _table(header: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    lines = [header, ("---", "---"), *rows]
    cells = ([cell.replace("|", "\\|") for cell in row] for row in lines)
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _joined(*parts: str) -> str:
    return "\n\n".join(filter(None, parts)) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages, or with `--check` name those that are stale and return 1."""
    parser = argparse.ArgumentParser(prog="python -m tools.command_pages", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing")
    check = parser.parse_args(arguments).check
    expected = pages()
    PAGES.mkdir(exist_ok=True)
    stored = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    # Also pages that are stored and not expected: their command is gone.
    stale = [name for name in {**expected, **stored} if expected.get(name) != stored.get(name)]
    for name in stale:
        if check:
            print(f"stale: docs/cli/{name}; run `make reference`")
        else:
            _write(PAGES / name, expected.get(name))
            print(f"written: docs/cli/{name}")
    return 1 if check and stale else 0


def _write(path: Path, text: str | None) -> None:
    """Write a page, or remove that of a command which is gone."""
    if text is None:
        path.unlink()
    else:
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
