"""Problems: what is wrong, in which field, with a CamelCase reason.

A reason is one CamelCase word. It is the same in admission denials, conditions, events, metrics
and the output of the command line, because users search for it.

Texts that tenants send appear in messages. `shown`, `shown_name`, `listed` and `first_problems`
bound them, so that no message grows with what was sent.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

MOST_PROBLEMS: Final = 20
SHOWN: Final = 40
# Longer than any name of a published package, since users have to look for it.
_NAME: Final = 100
_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        reason: One CamelCase word, see above.
        message: One sentence for people: what was attempted and what they can do.
        field: JSON path of the field at fault (`spec.parameters[NAME]`), or file and line of a
            package (`templates/a.yaml:3`); empty where the whole object is at fault.
        limit: Name of the limit that was exceeded; empty where something else is wrong.
    """

    reason: str
    message: str
    field: str = ""
    limit: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class KudoError(Exception):
    """Root of the errors that this package raises."""


class InvalidInput(KudoError):
    """Input that cannot be used; carries every problem that was found, not only the first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def first_problems(problems: Iterable[Problem], *, beside: int = 0) -> tuple[Problem, ...]:
    """Return the first 20 problems, and one that says how many more there are.

    Args:
        problems: All problems; those that are not returned are counted and not kept.
        beside: Number of problems that were counted and not made.
    """
    remaining = iter(problems)
    first = tuple(islice(remaining, MOST_PROBLEMS))
    # Counted and not kept: one request may have a hundred thousand.
    more = beside + sum(1 for _ in remaining)
    if not more:
        return first
    return (*first, Problem(first[-1].reason, f"and {more} more problems like these"))


def shown(text: str, most: int = SHOWN) -> str:
    """Return the beginning of a value, with an ellipsis where something is left out."""
    return text if len(text) <= most else text[:most] + "…"


def one_line(text: str, most: int) -> str:
    """Return a text that anybody may have written as one line of at most `most` characters.

    Besides control characters, those that reverse or hide text are left out.
    """
    # What is left out first bounds the work: white space may be most of a text.
    printable = "".join(each if each.isprintable() else " " for each in text[: 4 * most])
    return shown(" ".join(printable.split()), most)


def abridged(text: str, most: int) -> str:
    """Return a message of at most `most` characters: its beginning and its end.

    A message ends with what to do, so it is cut in the middle.
    """
    if len(text) <= most:
        return text
    end = most * 2 // 5
    return f"{text[: most - end - 5]} ... {text[-end:]}"


def shown_name(name: str) -> str:
    """Return a name as messages show it: whole, unless it is longer than any real one."""
    return shown(name, _NAME)


def parameter_field(name: str) -> str:
    """Return the path of a parameter of an Instance, for `Problem.field`."""
    return f"spec.parameters[{shown_name(name)}]"


def listed(texts: Collection[str], separator: str = ", ", *, most: int = _NAME) -> str:
    """Return the first 20 texts of a list, and how many more there are.

    Args:
        texts: Names, unless `most` says something else.
        separator: What stands between two.
        most: Characters of each.
    """
    text = separator.join(shown(item, most) for item in islice(texts, _LISTED))
    more = len(texts) - _LISTED
    return f"{text} and {more} more" if more > 0 else text


def path_text(path: Iterable[object]) -> str:
    """Return a path as messages show it: `tasks[app].spec.resources[0]`.

    Args:
        path: Keys of mappings, indexes of lists, and items by name, which show themselves.
    """
    text = ""
    for element in path:
        if isinstance(element, str):
            text += f".{element}" if text else element
        else:
            text += f"[{element}]" if isinstance(element, int) else str(element)
    return text


def text_fault(value: object) -> str:
    """Return why a value that is there cannot be a text: `y` and `123` need quotes."""
    if isinstance(value, str | None):
        return ""
    quotes = "" if isinstance(value, dict | list) else "; put quotes around it"
    return f"is {kind_of_value(value)} and not text{quotes}"


def kind_of_value(value: object) -> str:
    """Return what a value of YAML or JSON is, in words, where another kind is needed."""
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case bool():
            return "true" if value else "false"
        case str():
            return "text"
        case None:
            return "null"
    return "a number"
