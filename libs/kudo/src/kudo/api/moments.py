"""Moments as statuses have them: RFC 3339 in UTC and whole seconds, as of metav1.Time."""

from datetime import UTC, datetime


def rfc3339(at: datetime) -> str:
    """Return a moment as text; fractions of a second are cut."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str | None) -> datetime | None:
    """Return the moment that a status names; None if it names none, or one without a zone."""
    try:
        parsed = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return None if parsed.tzinfo is None else parsed
