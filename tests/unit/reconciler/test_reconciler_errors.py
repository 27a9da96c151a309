"""What the log says of an unexpected exception."""

from kudo_reconciler.common.errors import described


def _broken() -> None:
    try:
        raise ValueError("got hunter2")
    except ValueError:
        raise KeyError("hunter2 is no key") from None


def _chained() -> None:
    try:
        _broken()
    except KeyError as error:
        value = "hunter2"
        raise RuntimeError(value) from error


def test_the_type_and_the_stack_are_told_and_no_texts() -> None:
    try:
        _chained()
    except RuntimeError as fault:
        fields = described(fault)

    assert fields["fault"] == "RuntimeError"
    assert "test_reconciler_errors.py" in fields["stack"]
    assert "in _chained" in fields["stack"]
    assert "hunter2" not in str(fields)
