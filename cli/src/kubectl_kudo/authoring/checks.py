"""Checks of what the author types; each returns what is wrong, or nothing."""

import re
from typing import Final

from kubectl_kudo.core.naming import name_fault
from kubeio.names import MAX_LABEL
from kudo.semver import precedence

_EMAIL: Final = re.compile(r"[^@\s<>]+@[^@\s<>]+")


def operator_name_fault(name: str) -> str:
    return name_fault("operator", name, MAX_LABEL) if name else "an answer is needed"


def version_fault(version: str) -> str:
    known = precedence(version) is not None
    return "" if known else f'"{version}" is not a semantic version such as 1.2.0'


def optional_version_fault(version: str) -> str:
    return version_fault(version) if version else ""


def email_fault(email: str) -> str:
    return "" if _EMAIL.fullmatch(email) else f'"{email}" is not an address such as me@example.com'


def optional_email_fault(email: str) -> str:
    return email_fault(email) if email else ""
