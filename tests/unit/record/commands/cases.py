"""Command lines to be recorded, and the text that a file has of them."""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tests.unit.record.commands.console import MODES, PIPE, Ran, run
from tests.unit.record.commands.site import Site

_REPEATED = 3
"""How many lines are written again where a command ends differently on a terminal."""
_GLOBAL_FLAGS = re.compile(r"(?<=\nglobal flags:)\n(?: .*\n)+")


@dataclass(frozen=True, slots=True)
class Case:
    """A command line.

    Attributes:
        line: The words behind `kubectl kudo`; further lines are told, not run.
        typed: What is typed at a terminal; `about` tells of it.
        before: What happens first.
        about: Told beside the command line.
        most: How many lines of an output are recorded; of the others a digest.
        files: Whether the command may write files.
        modes: Where it runs.
        after: Tells what it has left, such as a file.
        global_flags: Whether those of a help are recorded; they are the same in each.
    """

    line: str
    typed: str = ""
    before: Callable[[Site], None] | None = None
    about: str = ""
    most: int = 150
    files: bool = False
    modes: tuple[str, ...] = MODES
    after: Callable[[Site], str] | None = None
    global_flags: bool = True


def text_of(cases: Iterable[Case | str], site: Site) -> str:
    """Return the sections of command lines, each after a line end; a text is a heading."""
    return "\n".join(_section(case, site) for case in _cases(cases))


def _cases(cases: Iterable[Case | str]) -> Iterable[Case]:
    return (Case(case) if isinstance(case, str) else case for case in cases)


def _section(case: Case, site: Site) -> str:
    found: dict[tuple[Ran, str, str], list[str]] = {}
    for mode in case.modes:
        found.setdefault(_ran(case, site, mode), []).append(mode)
    about = f"  # {case.about}" if case.about else ""
    lines = [f"$ kubectl kudo {case.line}".rstrip() + about]
    before: set[tuple[str, str]] = set()
    for (ran, sent, left), modes in found.items():
        where = "" if tuple(modes) == MODES else f" ({', '.join(modes)})"
        lines.append(f"exit {ran.code}{where}")
        for part in ((ran.out, "  "), (ran.err, "! "), (sent, "> "), (left, "+ ")):
            text, prefix = part
            again = part in before and text.count("\n") > _REPEATED
            lines += [f"{prefix}(the same)"] if again else _shown(text, prefix, case.most)
            before.add(part)
    return "\n".join(lines) + "\n"


def _ran(case: Case, site: Site, mode: str) -> tuple[Ran, str, str]:
    """Return what a command printed, what it wrote to the server, and what it left."""
    site.renew(files=case.files)
    if case.before is not None:
        case.before(site)
    ran = run(case.line, mode, case.typed if mode != PIPE else "")
    sent = "".join(f"{line}\n" for line in site.writes())
    left = case.after(site) if case.after is not None else ""
    put = site.placeholders.put_into
    out = put(ran.out)
    if not case.global_flags:
        out = _GLOBAL_FLAGS.sub(" (see `kudo`)\n", out)
    return Ran(ran.code, out, put(ran.err)), put(sent), put(left)


def _shown(text: str, prefix: str, most: int) -> list[str]:
    """Return the lines of an output; that it does not end with a line end is told."""
    if not text:
        return []
    lines = text.removesuffix("\n").split("\n")
    shown = [_visible(line, prefix) for line in lines[:most]]
    if len(lines) > most:
        digest = hashlib.sha256("\n".join(lines[most:]).encode()).hexdigest()[:16]
        shown.append(f"{prefix}(and {len(lines) - most} lines, sha256 {digest})")
    return shown if text.endswith("\n") else [*shown, f"{prefix}(no line end)"]


def _visible(line: str, prefix: str) -> str:
    # Editors take spaces at the end away, and nobody sees them.
    kept = line.rstrip(" ")
    return (prefix + kept).rstrip(" ") + "␠" * (len(line) - len(kept))


def lines_of(path: str) -> Callable[[Site], str]:
    """Return what tells the files below a path of the folder, with their texts."""

    def tell(site: Site) -> str:
        top = site.folder / path
        files = sorted(top.rglob("*")) if top.is_dir() else [top]
        return "".join(
            f"{file.relative_to(site.folder)}:\n" + file.read_text()
            for file in files
            if file.is_file()
        )

    return tell


Cases = Sequence[Case | str]
