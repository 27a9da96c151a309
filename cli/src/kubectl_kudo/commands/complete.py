"""Answers `kubectl-kudo __complete WORD...`, as cobra's hidden command of KUDO 0.19 did (BTO-3).

The last word is the one to complete; it may be empty. Each line of the answer is a candidate, with
a tab and its description where it has one; the last line is a colon and a sum of the directives
below. Kubectl and the scripts of `completion` read that. An error of any kind leaves no candidates:
a shell has no place to show it.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kubectl_kudo.completion.line import Expected, Line, NameKind, of_argument, of_flag, read
from kubectl_kudo.session.command import Command, Group
from kubectl_kudo.session.errors import describe
from kubectl_kudo.session.terminal import word

COMMANDS = ("__complete", "__completeNoDesc")
"""The commands of cobra; the second prints no descriptions."""
NO_SPACE = 2
NO_FILES = 4
FOLDERS = 16
KEEP_ORDER = 32
_SECONDS = 4
"""After that the process ends whatever holds it, such as a name server that does not answer."""
_BY_FILES = {NameKind.FILE: 0, NameKind.PACKAGE_FILE: 0, NameKind.FOLDER: FOLDERS}
"""Directives for what the shell completes itself."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A word that could stand here.

    Attributes:
        word: The word.
        description: What it is, for shells that show that.
    """

    word: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What could stand here.

    Attributes:
        candidates: The words that could.
        directive: What the shell does with them, and whether it offers files.
    """

    candidates: Sequence[Candidate] = ()
    directive: int = NO_FILES


def complete(root: Group, argv: Sequence[str]) -> None:
    """Print the answer to a command line that begins with one of `COMMANDS`."""
    if sys.argv[1:2] and sys.argv[1] in COMMANDS:  # this process was started to complete a word
        # A signal, since a timeout of asyncio does not end a look-up of a name in a thread.
        signal.signal(signal.SIGALRM, _give_up)
        signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        answer = answer_to(root, argv[1:])
    except Exception as error:
        if describe(error) is None:
            raise
        answer = Answer()
    signal.setitimer(signal.ITIMER_REAL, 0)
    described = argv[0] == COMMANDS[0]
    for candidate in answer.candidates:
        more = f"\t{word(candidate.description)}" if described and candidate.description else ""
        print(word(candidate.word) + more)
    print(f":{answer.directive}")


def _give_up(*_: object) -> None:
    os.write(1, f":{NO_FILES}\n".encode())
    os._exit(0)


def answer_to(root: Group, words: Sequence[str]) -> Answer:
    """Return what could stand in the place of the last word.

    Args:
        root: All commands.
        words: The command line without the name of the program.
    """
    *before, current = words or [""]
    if before[:1] == ["help"]:
        before = before[1:]
    line = read(root, before)
    if line is None:
        return Answer()
    answer = _answer(line, current)
    fitting = [each for each in answer.candidates if each.word.startswith(current)]
    # After `replicas=` the value follows at once.
    more = NO_SPACE if fitting and all(each.word.endswith("=") for each in fitting) else 0
    return Answer(fitting, answer.directive | more)


def _answer(line: Line, current: str) -> Answer:
    if line.open is not None:
        return _values(line, of_flag(_name(line), line.open), current)
    if current.startswith("-") and not line.ended:
        name, equals, value = current.partition("=")
        flag = line.flag(name)
        if equals and flag is not None and flag.value:
            return _after(f"{name}=", _values(line, of_flag(_name(line), flag), value))
        return Answer(list(_flags(line)))
    if isinstance(line.node, Group):
        members = line.node.members.items()
        return Answer([Candidate(name, member.summary) for name, member in members])
    expected = of_argument(line.node, len(line.arguments))
    return _values(line, expected, current)


def _name(line: Line) -> str:
    return line.node.name if isinstance(line.node, Command) else ""


def _after(prefix: str, answer: Answer) -> Answer:
    candidates = [Candidate(prefix + each.word, each.description) for each in answer.candidates]
    return Answer(candidates, answer.directive)


def _flags(line: Line) -> Iterator[Candidate]:
    given = {word.partition("=")[0] for word in line.flags}
    for flag in line.known_flags():
        if flag.repeat or given.isdisjoint(flag.names):
            yield Candidate(flag.names[0], flag.help)


def _values(line: Line, expected: Expected, current: str) -> Answer:
    if expected is None:
        return Answer()
    if isinstance(expected, tuple):
        return Answer([Candidate(word) for word in expected])
    if expected in _BY_FILES:
        return Answer(directive=_BY_FILES[expected])
    if expected is NameKind.PACKAGE and current.startswith((".", "/", "~")):
        return Answer(directive=0)
    # This imports the client and the models, which takes longer than all the rest; words, flags and
    # files, which are completed most often, need neither.
    from kubectl_kudo.completion.names import names

    directive = 0 if expected is NameKind.PACKAGE else NO_FILES
    if expected is NameKind.STEP:
        directive |= KEEP_ORDER
    items = names(expected, line, current, without=frozenset(line.arguments))
    return Answer([Candidate(*item) for item in items], directive)
