"""Names that people type: the rules of the API server for them, and suggestions."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from kubectl_kudo.session.terminal import word
from kubeio.names import MAX_SUBDOMAIN, is_subdomain


def name_fault(what: str, name: str, longest: int = MAX_SUBDOMAIN) -> str:
    """Return what is wrong with a name (DNS-1123 subdomain), or an empty string."""
    if len(name) > longest:
        return f'the {what} name "{name}" has {len(name)} characters; at most {longest} are allowed'
    if not is_subdomain(name):
        return (
            f'the {what} name "{name}" is not valid: use lower-case letters, digits, "-" and '
            '".", with a letter or digit at both ends'
        )
    return ""


def closest(
    name: str, names: Iterable[str], *, most: int = 1, similarity: float = 0.6
) -> list[str]:
    """Return the known names that look like `name`, the most similar first, whatever their case.

    Args:
        name: The name that is unknown.
        names: The known ones.
        most: How many to return.
        similarity: From 0, nothing alike, to 1, the same.
    """
    by_lower_case = {other.lower(): other for other in names}
    close = get_close_matches(name.lower(), by_lower_case, n=most, cutoff=similarity)
    return [by_lower_case[other] for other in close]


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return `did you mean <name>?`, or an empty text if no known name looks like it."""
    close = closest(name, names)
    return f"did you mean {word(close[0])}?" if close else ""


def note_similar(error: Exception, names: Iterable[str], valid: Collection[str]) -> None:
    """Add a line to an error for each unknown name that looks like a valid one."""
    for name in names:
        text = "" if name in valid else did_you_mean(name, valid)
        if text:
            error.add_note(f"\n{word(name)}: {text}")
