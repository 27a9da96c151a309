"""What is checked before anything is created, and how an installed version is compared."""

from pathlib import Path
from typing import Any

import pytest

from kubectl_kudo.packages.install_set import (
    check_instance,
    check_kubernetes,
    check_package,
    minor_version,
)
from kubectl_kudo.packages.installed import check_same, differences
from kubectl_kudo.session.errors import CliError
from kudo.api import OperatorVersion
from kudo.packages.convert import PackageObjects, to_objects
from kudo.packages.reader import read_package


@pytest.fixture
def objects(package: Path) -> PackageObjects:
    return to_objects(read_package(package), "kitchen")


def edited(package: Path, file: str, old: str, new: str) -> PackageObjects:
    path = package / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return to_objects(read_package(package), "kitchen")


def refusal(name: str, version: OperatorVersion, values: dict[str, str]) -> str:
    with pytest.raises(CliError) as caught:
        check_instance(name, version, values)
    return str(caught.value)


def test_a_good_package_and_instance_pass(objects: PackageObjects) -> None:
    check_package(objects)
    check_instance("tea.blue-1", objects.operator_version, {"TEA": "mint", "SIZE": "small"})


def test_missing_required_parameters_are_named_in_the_order_of_the_package(
    package: Path,
) -> None:
    objects = edited(package, "params.yaml", 'type: integer, default: "2"', "type: integer")
    text = refusal("tea", objects.operator_version, {"SIZE": "huge"})
    assert text == "missing required parameters during installation: CUPS,TEA"


def test_everything_else_that_is_wrong_is_told_at_once(objects: PackageObjects) -> None:
    values = {"TEA": "mint", "CUPS": "two", "SIZE": "huge", "cup": "3", "SUGAR": "1"}
    lines = refusal("Tea_Blue", objects.operator_version, values).splitlines()
    assert lines[0] == "the instance cannot be created:"
    assert '--instance: the instance name "Tea_Blue" is not valid' in lines[1]
    assert 'spec.parameters[cup]: parameter "cup" is not declared' in lines[2]
    assert "did you mean CUPS?" in lines[2]
    assert lines[3].endswith("it declares CUPS, TEA, SIZE")
    assert 'parameter "CUPS" has an invalid value "two"' in lines[4]
    assert "only allowed values are [small large]" in lines[5]


def test_a_name_that_would_not_fit_into_a_label_is_refused(objects: PackageObjects) -> None:
    text = refusal("t" * 64, objects.operator_version, {"TEA": "mint"})
    assert "has 64 characters; at most 63 are allowed" in text


def test_a_package_without_a_deploy_plan_cannot_have_instances(package: Path) -> None:
    objects = edited(package, "operator.yaml", "  deploy:", "  brew:")
    text = refusal("tea", objects.operator_version, {"TEA": "mint"})
    assert "operator.yaml: plans: the package has no 'deploy' plan" in text


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("name: teapot", "name: Tea_Pot", 'operator name "Tea_Pot" is not valid'),
        ("operatorVersion: 0.3.0\n", "", "does not name its version"),
        ("appVersion: 2.1.0", "appVersion: 2.1.0+b", "operatorversion name"),
    ],
)
def test_a_package_whose_objects_cannot_be_named_is_refused(
    package: Path, old: str, new: str, text: str
) -> None:
    with pytest.raises(CliError, match=r"operator\.yaml") as caught:
        check_package(edited(package, "operator.yaml", old, new))
    assert text in str(caught.value)


def test_versions_are_read_leniently() -> None:
    rows = [
        ("1.22.0", (1, 22)),
        ("v1.36.3", (1, 36)),
        ("1.22", (1, 22)),
        ("2", (2, 0)),
        ("1.30.1-gke.100+build", (1, 30)),
        ("", None),
        ("1.2.3.4", None),
        (" 1.2", None),
        ("latest", None),
    ]
    assert [(text, minor_version(text)) for text, _ in rows] == rows


@pytest.mark.parametrize("desired", [None, "", "1.36.9", "1.22"])
def test_a_new_enough_cluster_passes(desired: str | None) -> None:
    check_kubernetes(desired, {"gitVersion": "v1.36.3"})


def test_a_cluster_of_an_unreadable_version_passes() -> None:
    check_kubernetes("1.22", {"gitVersion": "v0.0.0-master+$Format:%H$"})


def test_an_older_cluster_is_refused() -> None:
    text = "expected kubernetes version of 1.40.0 is not supported with version: v1.36.3"
    with pytest.raises(CliError, match=text):
        check_kubernetes("1.40.0", {"gitVersion": "v1.36.3"})


def test_a_version_that_is_none_is_refused() -> None:
    with pytest.raises(CliError, match="unable to parse operators kubernetes version: new"):
        check_kubernetes("new", {})


# Comparing


def stored(version: OperatorVersion) -> dict[str, Any]:
    wire = version.to_wire()
    wire["metadata"] |= {"uid": "1", "managedFields": [], "labels": {"a": "b"}}
    return wire


def test_the_same_content_is_the_same_whatever_the_server_adds(objects: PackageObjects) -> None:
    check_same(stored(objects.operator_version), objects.operator_version)


def test_differences_are_named_as_far_down_as_names_go(package: Path) -> None:
    before = stored(to_objects(read_package(package), "kitchen").operator_version)
    (package / "templates" / "pot.yaml").write_text("kind: Secret\n")
    (package / "templates" / "lid.yaml").write_text("kind: Secret\n")
    after = edited(package, "params.yaml", "name: TEA", "name: TEA, default: mint")
    assert list(differences(before, after.operator_version)) == [
        "spec.parameters[TEA]",
        "spec.templates[lid.yaml]",
        "spec.templates[pot.yaml]",
    ]
    with pytest.raises(CliError) as caught:
        check_same(before, after.operator_version)
    assert "operatorversion kitchen/teapot-2.1.0-0.3.0 is installed already" in str(caught.value)
    assert "`kubectl kudo install --upgrade --replace-version`" in str(caught.value)


def test_another_order_is_another_content(package: Path) -> None:
    before = stored(to_objects(read_package(package), "kitchen").operator_version)
    before["spec"]["parameters"].reverse()
    version = to_objects(read_package(package), "kitchen").operator_version
    assert list(differences(before, version)) == ["spec.parameters"]


def test_an_object_that_is_no_operatorversion_is_different(objects: PackageObjects) -> None:
    assert list(differences({"spec": {"tasks": 1}}, objects.operator_version)) == ["spec"]
