"""The Date header of an answer, which tells the API server's clock."""

from datetime import UTC, datetime
from typing import Final, NamedTuple

_FORMAT: Final = "%a, %d %b %Y %H:%M:%S GMT"


class ServerDate(NamedTuple):
    """The Date header of an answer, and when it came.

    Attributes:
        text: As the server sent it; `parse` reads it.
        received_at: Seconds of the event loop's clock when the headers of the answer had arrived.
    """

    text: str
    received_at: float

    def parse(self) -> datetime:
        """Return the time in UTC, in whole seconds.

        Only the form that servers have to send is read (RFC 9110 §5.6.7, IMF-fixdate).

        Raises:
            ValueError: the header has another form, or no such day exists.
        """
        return datetime.strptime(self.text, _FORMAT).replace(tzinfo=UTC)
