"""Which names the API server takes for objects, so that a wrong one is told before it is sent."""

from kudo.dns1123 import MAX_SUBDOMAIN, is_subdomain


def name_fault(what: str, name: str, longest: int = MAX_SUBDOMAIN) -> str:
    """Return what is wrong with a name (DNS-1123 subdomain), or an empty text."""
    if len(name) > longest:
        return f'the {what} name "{name}" has {len(name)} characters; {longest} are allowed'
    if not is_subdomain(name):
        return (
            f'the {what} name "{name}" is not possible: use lower-case letters, digits, "-" and '
            '".", with a letter or digit at both ends'
        )
    return ""
