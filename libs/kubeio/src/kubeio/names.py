"""The forms that Kubernetes gives to the names in a URL path of its API.

    /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE

What has another form is refused, not quoted: the API server decodes a quoted slash, so a group
``kudo.dev/v1/namespaces/other`` would be a path into another namespace. The module imports nothing
of this package: whoever reads objects of tenants checks them with the same rules.
"""

import re
from typing import Final, Literal

MAX_SUBDOMAIN: Final = 253
"""Characters of a DNS-1123 subdomain."""
MAX_LABEL: Final = 63
"""Characters of a DNS-1123 label, and of the value of a Kubernetes label."""

Part = Literal["group", "version", "resource", "namespace", "name", "subresource"]
"""The parts of a path of the API."""

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_SHOWN: Final = 80
"""Characters of a name of a tenant that a message quotes."""
_SUBDOMAIN_TEXT: Final = (
    f'use at most {MAX_SUBDOMAIN} lower-case letters, digits, "-" and ".", with a letter or digit '
    "at both ends"
)
_LABEL_TEXT: Final = (
    f'use at most {MAX_LABEL} lower-case letters, digits and "-", with a letter or digit at both '
    "ends"
)
_LABEL_1035_TEXT: Final = (
    f'use at most {MAX_LABEL} lower-case letters, digits and "-", with a letter at the beginning '
    "and a letter or digit at the end"
)
_SEGMENT_TEXT: Final = 'use at least one character, no "/" and no "%", and neither "." nor ".."'


def is_subdomain(text: str) -> bool:
    """Return whether a text is a DNS-1123 subdomain, so that an object can have it as its name.

    It is one or more labels of lower-case letters, digits and hyphens, with a letter or a digit at
    both ends, and dots between them; as in the API server only the whole has a greatest length.
    """
    # The length comes first: it bounds how long the expression can take.
    return len(text) <= MAX_SUBDOMAIN and _SUBDOMAIN.fullmatch(text) is not None


def is_label(text: str) -> bool:
    """Return whether a text is a DNS-1123 label, so that a namespace can have it as its name."""
    return len(text) <= MAX_LABEL and _LABEL.fullmatch(text) is not None


def is_label_1035(text: str) -> bool:
    """Return whether a text is a DNS-1035 label: one that begins with a letter.

    API versions, resources and Services have such names.
    """
    return len(text) <= MAX_LABEL and _LABEL_1035.fullmatch(text) is not None


def is_path_segment(text: str) -> bool:
    """Return whether any object can have a text as its name, whatever its kind.

    The name ``system:node`` of a ClusterRole is one. As in the API server there is no greatest
    length.
    """
    if not text or text in {".", ".."} or "/" in text or "%" in text:
        return False
    # A template may contain a half of a surrogate pair, which UTF-8 cannot express.
    return text.isascii() or _is_unicode(text)


def name_fault(part: Part, text: str) -> str:
    """Return why a text cannot be a part of a path of the API, and what can; "" if it can.

    Args:
        part: What it names.
        text: Of any content and length.
    """
    rule = _rule_broken(part, text)
    return f"{_quoted(text)} cannot be the {part} in an API path: {rule}" if rule else ""


def api_version_fault(text: str) -> str:
    """Return why a text cannot be the apiVersion of an object; "" if it can.

    It is the version alone in the core group, else ``group/version``.
    """
    group, slash, version = text.rpartition("/")
    fault = name_fault("version", version)
    if slash:
        fault = name_fault("group", group) or fault
    return f"{_quoted(text)} is not an API version: {fault}" if fault else ""


def _rule_broken(part: Part, text: str) -> str:
    """Return the rule that the text of a part breaks, "" if it breaks none."""
    match part:
        case "group":
            return "" if is_subdomain(text) else _SUBDOMAIN_TEXT
        case "version" | "resource":
            return "" if is_label_1035(text) else _LABEL_1035_TEXT
        case "namespace":
            return "" if is_label(text) else _LABEL_TEXT
        case "name":
            return "" if is_path_segment(text) else _SEGMENT_TEXT
        case "subresource":
            # Behind a proxy, the rest is the path of another program.
            first, *rest = text.split("/")
            if not is_label_1035(first):
                return _LABEL_1035_TEXT
            return "" if all(map(is_path_segment, rest)) else _SEGMENT_TEXT


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
