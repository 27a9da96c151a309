"""Error texts of KUDO 0.19 of `search`, `repo` and `package`, beside those of the record.

Scripts may look for them.
"""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli

ONE_PACKAGE = "expecting exactly one argument - directory of the operator or name of package"
ONE_FOLDER = "expecting exactly one argument - directory containing the operators to package"
NEW = "expecting exactly one argument - name of the operator. Or use -i for interactive mode"
USAGE = 2


@pytest.fixture
def empty(run: Cli, tmp_path: Path) -> Cli:
    """Return a command line for a user whose list is empty, and whose context is gone."""
    listed = tmp_path / ".kudo" / "repository"
    listed.mkdir(parents=True)
    (listed / "repositories.yaml").write_text("context: gone\nrepositories: []\n")
    return run


@pytest.mark.parametrize(
    ("line", "code", "text"),
    [
        ("search a b", USAGE, "this command must have only 1 search criterion"),
        ("repo rm", USAGE, "need at least one argument, name of operator repository"),
        ("repo index a b", USAGE, ONE_FOLDER),
        ("repo index . --merge a --merge-repo b", USAGE, "specify either 'merge' or 'merge-repo',"),
        (
            "repo index . --url a --url-repo b",
            USAGE,
            "specify either 'url' or 'url-repo', not both",
        ),
        ("repo index file", 255, 'destination "{}/file" is not a proper directory'),
        ("package verify a b", USAGE, ONE_PACKAGE),
        ("package list params a b", USAGE, ONE_PACKAGE),
        ("package new a b", USAGE, NEW),
        ("package new -i a b", USAGE, "expecting at most one argument - name of the operator"),
        ("package list params . -r -d", USAGE, "only one of the flags 'required', 'names',"),
        # BTO-20: an unknown name ended with a crash.
        ("repo index . --merge-repo none", 3, "configuration for repositories does not contain no"),
        ("repo add builtin https://example.org", 255, "repository name (builtin) already exists, "),
    ],
)
def test_the_text_is_that_of_kudo_0_19(
    run: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, code: int, text: str
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    ran = run(*line.split())
    assert ran.out == ""
    assert ran.err.startswith(f"Error: {text.format(tmp_path)}")
    assert ran.code == code


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("repo context own", 'no repo named "own" found'),
        ("search a", "could not build operator repository: unable to find repository for "),
        ("install a", "failed to resolve operator package for: a could not build operator repos"),
    ],
)
def test_a_user_without_repositories_is_told(empty: Cli, line: str, text: str) -> None:
    ran = empty(*line.split())
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith(f"Error: {text}")


def test_an_empty_list_has_what_comes_with_the_command_line(empty: Cli) -> None:
    ran = empty("repo", "list")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[1:] == ["builtin\t(packages that come with kubectl kudo)"]
