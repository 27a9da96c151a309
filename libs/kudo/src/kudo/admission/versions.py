"""Parses OperatorVersions for admission, with short errors."""

from pydantic import ValidationError

from kudo.api import JsonObject, OperatorVersion
from kudo.api.problems import KudoError, shown_name


class VersionMalformed(KudoError):
    """An OperatorVersion that does not match its schema; the message says where."""


def parse_version(raw: JsonObject) -> OperatorVersion:
    """Parse an OperatorVersion that is within `kudo.api.bounds`; it takes up to 10 ms then.

    Raises:
        VersionMalformed: it does not match the schema.
    """
    try:
        return OperatorVersion.from_wire(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(shown_name(str(part)) for part in first["loc"])
        raise VersionMalformed(f"{where}: {first['msg']}") from error
