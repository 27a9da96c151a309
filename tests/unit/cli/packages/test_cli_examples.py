"""The example packages can be installed as they are."""

from pathlib import Path

import pytest

from kubectl_kudo.packages.install_set import check_instance, check_package
from kudo.packages.convert import PackageObjects, to_objects
from kudo.packages.reader import read_package
from kudo.verification import verify

EXAMPLES = Path(__file__).parents[4] / "examples"
PACKAGES = sorted(str(one.parent.relative_to(EXAMPLES)) for one in EXAMPLES.rglob("operator.yaml"))


@pytest.fixture
def first() -> PackageObjects:
    return to_objects(read_package(EXAMPLES / "first-operator"), "default")


def test_all_examples_are_found() -> None:
    assert {"first-operator", "lifecycle/v1", "lifecycle/v2"} <= set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_is_found_wrong_with_an_example(package: str) -> None:
    found = verify(read_package(EXAMPLES / package))

    assert [str(finding.problem) for finding in found] == []


def test_the_first_operator_needs_no_parameters(first: PackageObjects) -> None:
    check_package(first)
    check_instance("first-operator-instance", first.operator_version, {})
