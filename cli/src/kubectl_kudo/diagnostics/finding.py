"""What looks wrong, and the words of statuses, conditions and events that findings are made of."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from kubectl_kudo.reading.runs import message_of
from kubectl_kudo.session.output import JsonObject

_TEXT: Final = 400


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that looks wrong.

    Attributes:
        subject: The object, such as `pod tea-0`.
        text: What, in a sentence without its end.
        advice: What to do about it; empty if that depends.
        lines: The last lines of the log.
        stops: Whether this itself, and no object that a plan waits for, keeps plans from going on.
    """

    subject: str
    text: str
    advice: str = ""
    lines: tuple[str, ...] = ()
    stops: bool = False


def condition_of(status: JsonObject, kind: str, value: str) -> JsonObject:
    """Return the condition of a type if it has this value, else an empty one."""
    for condition in status.get("conditions") or []:
        if condition.get("type") == kind and condition.get("status") == value:
            return dict(condition)
    return {}


def because(obj: JsonObject) -> str:
    """Return reason and message of a status or condition behind a colon, as far as it has any."""
    text = reason_and_message(obj)
    return f": {text}" if text else ""


def reason_and_message(obj: JsonObject) -> str:
    """Return reason and message of a status, condition or event in one line."""
    text = " ".join(message_of(obj).split())
    text = text if len(text) <= _TEXT else f"{text[:_TEXT]}..."
    return ": ".join(filter(None, (str(obj.get("reason") or ""), text)))


def name_of(obj: JsonObject) -> str:
    return str(obj["metadata"]["name"])


def moment_of(text: object) -> datetime | None:
    """Return a time of the API; None if it is unreadable."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def shown(age: timedelta | None) -> str:
    """Return an age as kubectl shows it: `5d`, `3h`, `12m`, `40s`."""
    seconds = int(age.total_seconds()) if age else 0
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
