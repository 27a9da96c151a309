"""Suggests known names for a misspelt one.

`difflib` is imported only where a name is wrong.
"""

from collections.abc import Collection, Iterable


def closest(
    name: str, known: Iterable[str], *, most: int = 1, similarity: float = 0.6
) -> list[str]:
    """Return the known names that look like `name`, the most similar first, whatever their case.

    Args:
        name: The name that is unknown.
        known: The known ones.
        most: How many to return.
        similarity: From 0, nothing alike, to 1, the same.
    """
    from difflib import get_close_matches

    by_lower_case = {other.lower(): other for other in known}
    close = get_close_matches(name.lower(), by_lower_case, n=most, cutoff=similarity)
    return [by_lower_case[other] for other in close]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `did you mean <name>?`, or an empty text if no known name looks like it."""
    close = closest(name, known)
    return f"did you mean {close[0]}?" if close else ""


def for_unknown(names: Iterable[str], known: Collection[str]) -> list[str]:
    """Return `<name>: did you mean <other>?` for each unknown name that looks like a known one."""
    found = ((name, did_you_mean(name, known)) for name in names if name not in known)
    return [f"{name}: {text}" for name, text in found if text]
