"""Label selectors, evaluated locally.

For lists and watches the API server applies the selector. The answer to an own write comes
unselected, so the cache has to check whether the object belongs to it.
"""

import re
from collections.abc import Callable, Mapping

_Labels = Mapping[str, str]
_SET = re.compile(r"^(\S+)\s+(in|notin)\s*\((.*)\)$")
_EQUALITY = re.compile(r"^([^!=\s]+)\s*(==|=|!=)\s*(\S*)$")
_COMMA = re.compile(r",(?![^(]*\))")


def label_matcher(selector: str | None) -> Callable[[_Labels], bool]:
    """Return a predicate over labels for a selector in the syntax of the API; None matches all.

    Raises:
        ValueError: a requirement cannot be parsed.
    """
    parts = [part.strip() for part in _COMMA.split(selector or "") if part.strip()]
    requirements = [_requirement(part) for part in parts]
    return lambda labels: all(holds(labels) for holds in requirements)


def _requirement(text: str) -> Callable[[_Labels], bool]:
    if match := _SET.match(text):
        return _in_set(match[1], match[3], negated=match[2] == "notin")
    if match := _EQUALITY.match(text):
        return _in_set(match[1], match[3], negated=match[2] == "!=")
    key = text.removeprefix("!").strip()
    if not key or re.search(r"[\s=!()]", key):
        raise ValueError(f"cannot parse the label selector requirement {text!r}")
    negated = text.startswith("!")
    return lambda labels: (key in labels) is not negated


def _in_set(key: str, listed: str, *, negated: bool) -> Callable[[_Labels], bool]:
    values = {value.strip() for value in listed.split(",")}
    if negated:
        return lambda labels: key not in labels or labels[key] not in values
    return lambda labels: key in labels and labels[key] in values
