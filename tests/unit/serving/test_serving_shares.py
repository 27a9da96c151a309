"""Limits of a service and of one namespace, as options."""

import pytest

from serving.settings import Share, parse, share_options, take_share


def read(*argv: str, **environ: str) -> Share:
    options = share_options("X_", "some-jobs", Share(8, 2), "Jobs", 100)
    return take_share(
        vars(parse(options, prog="x", description="", argv=argv, environ=environ)), "some-jobs"
    )


def test_both_are_options_and_variables() -> None:
    assert read() == Share(8, 2)
    assert read("--some-jobs=9", X_NAMESPACE_SOME_JOBS="8") == Share(9, 8)
    assert read("--namespace-some-jobs=1", X_SOME_JOBS="100") == Share(100, 1)


@pytest.mark.parametrize("namespace", [8, 9])
def test_one_namespace_never_has_all(namespace: int) -> None:
    with pytest.raises(ValueError, match=rf"--namespace-some-jobs \({namespace}\) must be below"):
        read(f"--namespace-some-jobs={namespace}")


@pytest.mark.parametrize(("total", "namespace"), [(1, 1), (8, 0), (8, 8)])
def test_a_share_is_between_nothing_and_all(total: int, namespace: int) -> None:
    with pytest.raises(ValueError, match="the share of a namespace"):
        Share(total, namespace)


@pytest.mark.parametrize("text", ["1", "101", "-1", "x", ""])
def test_a_limit_has_a_range(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read(f"--some-jobs={text}")
    assert "is no whole number from 2 to 100" in capsys.readouterr().err
