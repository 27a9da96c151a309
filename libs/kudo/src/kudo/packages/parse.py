"""Parses `operator.yaml` and `params.yaml`."""

from goyaml import DumpError, YamlError, load
from kudo.api.names import API_VERSION
from kudo.api.problems import Problem
from kudo.packages.fields import Fields
from kudo.packages.files import OPERATOR_FILE, PARAMETERS_FILE
from kudo.packages.model import OperatorFile, PackageParameter, ParameterGroup
from kudo.packages.shapes import read
from kudo.parameters.sources import to_text
from kudo.parameters.types import is_container

Parameters = tuple[tuple[PackageParameter, ...], tuple[ParameterGroup, ...]]


def parse_operator(content: bytes, problems: list[Problem]) -> OperatorFile:
    """Return what `operator.yaml` says; append what is wrong with it to `problems`."""
    before = len(problems)
    document = _document(content, OPERATOR_FILE, problems)
    fields = Fields.of(document, "", OPERATOR_FILE, problems)
    if document is None and len(problems) == before:
        why = "has no content" if content.strip() else "is empty"
        fields.note(f"failed to parse yaml into valid operator {OPERATOR_FILE}: the file {why}")
    _check_api_version(fields)
    return read(OperatorFile, fields)


def parse_parameters(content: bytes, problems: list[Problem]) -> Parameters:
    """Return the parameters and groups of `params.yaml`; append what is wrong to `problems`."""
    document = _document(content, PARAMETERS_FILE, problems)
    fields = Fields.of(document, "", PARAMETERS_FILE, problems)
    _check_api_version(fields)
    return (
        tuple(map(_parameter, fields.children("parameters") or ())),
        tuple(read(ParameterGroup, one) for one in fields.children("groups") or ()),
    )


def _document(content: bytes, file: str, problems: list[Problem]) -> object:
    try:
        return load(content)
    except YamlError as error:
        place = f"{file}:{error.line}"
        problems.append(Problem("PackageInvalid", f"not valid YAML: {error.message}", place))
        return None


def _check_api_version(fields: Fields) -> None:
    version = fields.text("apiVersion")
    if version and version != API_VERSION:
        fields.note(f"expecting supported API version {API_VERSION} but got {version}")


def _parameter(fields: Fields) -> PackageParameter:
    parameter = read(PackageParameter, fields)
    # KUDO 0.19 stored the text "null" for these, and published packages rely on it: cassandra 3.11
    # declares {type: array} alone and installs without a value.
    null_by_default = is_container(parameter.type) and fields.get("required") is not True
    has_default = fields.has("default") or null_by_default
    parameter = parameter.model_copy(update={"has_default": has_default})
    _check_values(parameter, fields)
    return parameter


def _check_values(parameter: PackageParameter, fields: Fields) -> None:
    if parameter.enum is not None and None in parameter.enum:
        fields.note(f'parameter "{parameter.name}" has a null value in its enum')
    for value in (parameter.default, *(parameter.enum or ())):
        try:
            to_text(value, parameter.type)
        except DumpError as error:
            fields.note(f'parameter "{parameter.name}" has a value that cannot be stored: {error}')
