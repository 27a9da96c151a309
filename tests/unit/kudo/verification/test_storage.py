"""What `package verify` finds that the API server would refuse to store."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson
import pytest

from kudo.api.crds import definitions
from kudo.packages.convert import to_objects
from kudo.packages.files import PackageFiles
from kudo.packages.model import Package
from kudo.packages.reader import parse_package
from kudo.verification import Finding, verify
from kudo.verification.storage import MOST_BYTES, parts_are_within_bounds
from tests.unit.kudo.verification.test_verification import OBJECT, package

Path = tuple[str, ...]
_ITEM: Final = "[]"
_ENTRY: Final = "*"
_BOUNDS: Final = {"maxLength": "x", "maxItems": None, "maxProperties": None}
_NOT_IN_PACKAGES: Final = {"connectionString", "upgradableFrom"}
_OF_MAPPINGS: Final = {
    *("parameters", "maintainers", "pipe", "phases", "steps"),
    *("env", "volumes", "mounts"),
}
_IN_FILES: Final = {"version": "operatorVersion", "value-type": "type"}


def _with(**fields: Any) -> Package:
    return package(**fields)


def found(of: Package) -> list[Finding]:
    return [one for one in verify(of) if one.code in {"PackageTooLarge", "InvalidName"}]


def test_a_version_that_no_object_can_be_named_after_is_an_error(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str]] = [
        ("operatorVersion", "1.0.0+build.5"),
        ("operatorVersion", "1.0.0-RC1"),
        ("appVersion", "2.0.0_1"),
        ("appVersion", "1." + "0" * 250),
    ]
    for field, version in table:
        with subtests.test(field=field, version=version):
            [finding] = [
                one for one in found(_with(**{field: version})) if one.code == "InvalidName"
            ]
            assert finding.ends
            assert finding.place.field == field


def test_names_of_published_packages_are_fine() -> None:
    assert not found(package(name="first.operator-2", operatorVersion="v1.0-beta", appVersion="3"))


def bounds(schema: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, str, int]]:
    """Yield the path, the keyword and the value of each bound of a schema."""
    yield from ((path, keyword, schema[keyword]) for keyword in _BOUNDS if keyword in schema)
    for name, below in schema.get("properties", {}).items():
        yield from bounds(below, (*path, name))
    for element, keyword in ((_ITEM, "items"), (_ENTRY, "additionalProperties")):
        if keyword in schema:
            yield from bounds(schema[keyword], (*path, element))


def _of_packages() -> list[tuple[Path, str, int]]:
    crds = definitions()
    specs = (
        crds[plural]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        for plural in ("operators", "operatorversions")
    )
    return [
        bound
        for spec in specs
        for bound in bounds(spec["spec"])
        if bound[0] and bound[0][0] not in _NOT_IN_PACKAGES
    ]


def exceeding(path: Path, keyword: str, most: int) -> Any:
    """Return the smallest value that exceeds a bound below a path."""
    if path:
        first, rest = path[0], path[1:]
        inner = exceeding(rest, keyword, most)
        if first == _ITEM:
            return [inner]
        if first == _ENTRY:
            return {"p": inner}
        if not rest and first in _OF_MAPPINGS and keyword == "maxItems":
            inner = [{"name": name} for name in inner]
        return {"name": "p", _IN_FILES.get(first, first): inner}
    if keyword == "maxLength":
        return "x" * (most + 1)
    items = range(most + 1)
    return [f"x{n}" for n in items] if keyword == "maxItems" else {f"x{n}": None for n in items}


@pytest.mark.parametrize(("path", "keyword", "most"), _of_packages())
def test_every_bound_of_the_definitions_is_checked(path: Path, keyword: str, most: int) -> None:
    value = exceeding(path, keyword, most)
    parameters, templates, operator = [], {"a.yaml": OBJECT}, {}
    if path[0] == "parameters":
        parameters = value["parameters"]
    elif path[0] == "templates":
        texts = value["templates"]
        templates = {f"{name}.yaml": text or "" for name, text in texts.items()}
    else:
        name = _IN_FILES.get(path[0], path[0])
        operator = {name: value[name]}
        if path == ("tasks",):
            operator = {"tasks": [{"name": name} for name in value["tasks"]]}
    files = {
        "operator.yaml": json.dumps({"name": "first", "operatorVersion": "1.0.0", **operator}),
        "params.yaml": json.dumps({"parameters": parameters}),
        **{f"templates/{name}": text for name, text in templates.items()},
    }
    of = parse_package(PackageFiles("p", {name: text.encode() for name, text in files.items()}))

    problems = [str(one.problem) for one in parts_are_within_bounds(of) if one.ends]
    assert any(f"at most {most} are allowed" in problem for problem in problems)


def _large(text: str, count: int) -> Package:
    return package(templates={"a.yaml": OBJECT, "b.yaml": "# " + text * count})


@pytest.mark.parametrize("text", ["x", "<", "\n", "é", "\u2028", '"'])
def test_a_version_that_etcd_would_refuse_is_an_error(text: str) -> None:
    in_json = {"<": 6, "\n": 2, "é": 2, "\u2028": 6, '"': 2}.get(text, 1)
    fits = (MOST_BYTES - 10_000) // in_json
    if fits <= 1024 * 1024 - 10:
        assert not found(_large(text, fits))
    [finding] = [
        one for one in found(_large(text, MOST_BYTES // in_json)) if "etcd" in str(one.problem)
    ]
    assert finding.ends
    assert "the largest is b.yaml" in finding.problem.message


def test_values_that_aliases_make_large_count() -> None:
    defaults = "\n".join(f"- {{name: P{n}, default: *a}}" for n in range(4))
    parameters = f"parameters:\n- {{name: P, default: &a '{'x' * 250_000}'}}\n{defaults}\n"
    files = {**_large("x", 350_000).files.files, "params.yaml": parameters.encode()}
    of = parse_package(PackageFiles("p", files))
    assert len(orjson.dumps(to_objects(of, "default").operator_version.to_wire())) > MOST_BYTES
    assert any("etcd" in one.problem.message for one in found(of))
