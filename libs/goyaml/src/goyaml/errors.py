"""The error of writing, apart from the writer, so that who catches it need not import that."""


class DumpError(ValueError):
    """The value cannot be written: too deep, too large, or of a type that YAML does not have.

    Attributes:
        limit: Name of the exceeded field of `Limits`, else "".
    """

    def __init__(self, message: str, *, limit: str = "") -> None:
        super().__init__(message)
        self.limit = limit
