"""Checks names of objects by the rules of the API server, before they are sent."""

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
