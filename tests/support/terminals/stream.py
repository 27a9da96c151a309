"""A stream in memory that says it is a terminal."""

import io


class TerminalStream(io.StringIO):
    def isatty(self) -> bool:
        return True
