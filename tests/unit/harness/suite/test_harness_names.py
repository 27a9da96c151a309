import pytest

from kudo_harness.suite.step_files import Role, StepFile, looks_like_a_step, step_file, step_folder


def test_the_name_of_a_file_says_step_and_role() -> None:
    table: dict[str, StepFile | None] = {
        "00-install.yaml": StepFile(0, "install", Role.APPLY, template=False),
        "0-install.yaml": StepFile(0, "install", Role.APPLY, template=False),
        "00-install-more-words.yaml": StepFile(0, "install-more-words", Role.APPLY, False),
        "07-assert.yaml": StepFile(7, "assert", Role.ASSERT, template=False),
        "07-assert-pods.yaml": StepFile(7, "assert-pods", Role.ASSERT, template=False),
        "07-Assert.yaml": StepFile(7, "Assert", Role.ASSERT, template=False),
        "07-errors.yaml": StepFile(7, "errors", Role.ERRORS, template=False),
        "07-errors-gone.yaml": StepFile(7, "errors-gone", Role.ERRORS, template=False),
        "07-error.yaml": StepFile(7, "error", Role.APPLY, template=False),
        "07-asserts.yaml": StepFile(7, "asserts", Role.APPLY, template=False),
        "10-x.gotmpl.yaml": StepFile(10, "x", Role.APPLY, template=True),
        "10-assert-x.gotmpl.yaml": StepFile(10, "assert-x", Role.ASSERT, template=True),
        "assert.yaml": StepFile(None, "assert", Role.ASSERT, template=False),
        "deploy.yaml": StepFile(None, "deploy", Role.APPLY, template=False),
        "00-install.yml": None,
        "00-in.stall.yaml": None,
        "00-install.yaml.bak": None,
        "00-.yaml": None,
        "00.yaml": StepFile(None, "00", Role.APPLY, template=False),
        "setup.sh": None,
        "1234567890-a.yaml": StepFile(None, "1234567890-a", Role.APPLY, template=False),
    }
    assert {name: step_file(name) for name in table} == table


def test_the_name_of_a_folder_says_its_step(subtests: pytest.Subtests) -> None:
    table = [("00-install", 0, "install"), ("3-a-b", 3, "a-b"), ("12-assert", 12, "assert")]
    for name, index, step in table:
        with subtests.test(name=name, index=index, step=step):
            found = step_folder(name)
            assert found is not None
            assert (found.index, found.name) == (index, step)


def test_other_folders_hold_no_step() -> None:
    for name in ["install", "00", "00-", "00-a.b", "a-00"]:
        assert step_folder(name) is None


def test_a_name_that_was_meant_to_be_a_step_is_seen() -> None:
    table = [
        ("00-install.yml", True),
        ("00_install.yaml", True),
        ("00 install.yaml", True),
        ("00-in.stall.yaml", True),
        ("assert.yaml", True),
        ("errors.yaml", True),
        ("01assert.yaml", True),
        ("00-assert.yml", True),
        ("assertions.yaml", False),
        ("error-pages.yaml", False),
        ("1.config.yaml", False),
        ("pipeline.yaml", False),
        ("setup.sh", False),
        ("00-notes.txt", False),
    ]
    for name, expected in table:
        assert looks_like_a_step(name) is expected
