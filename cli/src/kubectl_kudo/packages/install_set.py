"""The objects that a package and its dependencies install, and the checks before that.

`install` and `upgrade` check names, values and the packages before they create anything.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kubectl_kudo.packages.findings import located_message
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, ExitCode, listed
from kubectl_kudo.session.kinds import OPERATOR_VERSIONS, OPERATORS
from kubectl_kudo.session.names import did_you_mean, name_fault
from kubectl_kudo.session.output import JsonObject, talk
from kubectl_kudo.session.terminal import word
from kubeio.names import MAX_LABEL, MAX_SUBDOMAIN
from kubeio.resource import Resource
from kudo.admission.source_rules import reference_fault
from kudo.api import OperatorVersion, Reference, Setting
from kudo.api.names import PLAN_DEPLOY
from kudo.api.problems import MOST_PROBLEMS, Problem
from kudo.packages.convert import PackageObjects, to_objects
from kudo.packages.location import Located
from kudo.packages.resolution import Resolution
from kudo.parameters.settings import Settings, with_settings
from kudo.parameters.sources import with_plain_booleans
from kudo.parameters.values import check_value, missing_required
from kudo.verification import softened, verify, verify_dependencies
from kudo.verification.finding import OF_NEW_INSTANCES

_VERSION: Final = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.\d+)?(?:[-+][0-9A-Za-z.+-]*)?", re.ASCII)

MinorVersion = tuple[int, int]


@dataclass(frozen=True, slots=True)
class InstallSet:
    """The objects to install; without Instances of dependencies, which plans create.

    Attributes:
        root: Of the package itself.
        dependencies: Of each package that it depends on and that is installed with it.
    """

    root: PackageObjects
    dependencies: tuple[PackageObjects, ...] = ()

    @property
    def all(self) -> tuple[PackageObjects, ...]:
        return (self.root, *self.dependencies)

    def in_order(self) -> Iterator[tuple[Resource, JsonObject]]:
        """Yield all objects but the Instance, the package's own OperatorVersion as the last.

        An Operator with several versions comes once.
        """
        yield OPERATORS, self.root.operator.to_wire()
        operators = {self.root.operator.metadata.name}
        for needed in self.dependencies:
            if needed.operator.metadata.name not in operators:
                operators.add(needed.operator.metadata.name)
                yield OPERATORS, needed.operator.to_wire()
            yield OPERATOR_VERSIONS, needed.operator_version.to_wire()
        yield OPERATOR_VERSIONS, self.root.operator_version.to_wire()


def install_set_of(resolution: Resolution, namespace: str) -> InstallSet:
    """Return the objects of a package and its dependencies, after checking them.

    Raises:
        InvalidInput: tasks lack what their kind needs.
        CliError: names are invalid, or a package lacks its version.
    """
    packages = (resolution.root, *resolution.dependencies)
    root, *dependencies = [to_objects(package, namespace) for package in packages]
    for objects in (root, *dependencies):
        check_package(objects)
    return InstallSet(root, tuple(dependencies))


def versions_of(install_set: InstallSet) -> dict[tuple[str, str], OperatorVersion]:
    """Return the OperatorVersions to install, by namespace and name."""
    versions = (objects.operator_version for objects in install_set.all)
    return {(version.metadata.namespace, version.metadata.name): version for version in versions}


def checked_instance(install_set: InstallSet, name: str, values: Settings) -> JsonObject:
    """Return the Instance to create; an empty name means the default one.

    Raises:
        CliError: it would be denied, or sets parameters that the package does not declare.
    """
    wire = install_set.root.instance.to_wire()
    wire["metadata"]["name"] = name or wire["metadata"]["name"]
    version = install_set.root.operator_version
    declared = as_declared(version, values)
    wire["spec"] = with_settings(wire["spec"], declared)
    check_instance(wire["metadata"]["name"], version, declared)
    return wire


def as_declared(version: OperatorVersion, values: Settings) -> dict[str, Setting]:
    """Return the values as a version stores them: those of booleans as `true` and `false`."""
    booleans = {p.name for p in version.parameters if p.value_type == "boolean"}
    return with_plain_booleans(booleans, values)


def check_package(objects: PackageObjects) -> None:
    """Check that the objects can be created at all.

    Raises:
        CliError: names are invalid, or the package lacks its version.
    """
    operator, version = objects.operator, objects.operator_version
    problems = list(_name("operator", operator.metadata.name, "operator.yaml: name", MAX_LABEL))
    if version.spec.version:
        where = "operator.yaml: operatorVersion, appVersion"
        problems += _name("operatorversion", version.metadata.name, where, MAX_SUBDOMAIN)
    else:
        text = "the package does not name its version"
        problems.append(Problem("VersionMissing", text, "operator.yaml: operatorVersion"))
    if problems:
        raise CliError(listed("the package cannot be installed:", problems), code=ExitCode.INVALID)


def check_instance(
    name: str, version: OperatorVersion, values: Settings, *, is_preview: bool = False
) -> None:
    """Check an Instance to be created, by the rules of the admission webhook and stricter ones.

    A parameter that the package does not declare is an error here: it is probably misspelt.

    Args:
        name: Of the Instance.
        version: Its OperatorVersion.
        values: What it sets.
        is_preview: Whether it is never created, so that secret parameters need no value.

    Raises:
        CliError: something is wrong; the text lists all problems.
    """
    # In a text of its own, the one of KUDO 0.19, before all others.
    missing = [
        p.name
        for p in version.parameters
        if missing_required([p], values)  # one by one, for the names alone
        and not (is_preview and p.secret)
    ]
    if missing:
        names = word(",".join(missing))
        raise CliError(
            f"missing required parameters during installation: {names}", code=ExitCode.DENIED
        )
    problems = list(_name("instance", name, "--instance", MAX_LABEL))
    declared = [parameter.name for parameter in version.parameters]
    for given in values:
        if given not in declared:
            listing = word(f"it declares {', '.join(declared) or 'none'}")
            hint = did_you_mean(given, declared) or listing
            text = f'parameter "{given}" is not declared by the package; {hint}'
            problems.append(Problem("ParameterUnknown", text, f"spec.parameters[{given}]"))
    for parameter in version.parameters:
        setting = values.get(parameter.name)
        if isinstance(setting, Reference):
            fault = reference_fault(parameter, setting)
            if fault:
                text = f'parameter "{parameter.name}": {fault}'
                problems.append(Problem("ParameterSourceInvalid", text, "spec.parametersFrom"))
        elif setting is not None and (problem := check_value(parameter, setting)) is not None:
            problems.append(problem)
    if PLAN_DEPLOY not in version.plans:
        text = f"the package has no '{PLAN_DEPLOY}' plan, which a new instance runs"
        problems.append(Problem("DeployPlanMissing", text, "operator.yaml: plans"))
    if problems:
        raise CliError(listed("the instance cannot be created:", problems), code=ExitCode.DENIED)


def check_kubernetes(required: str | None, server: Mapping[str, str]) -> None:
    """Check the lowest version of Kubernetes that a package names against that of the server.

    A server whose version cannot be read is taken to be new enough.

    Raises:
        CliError: the server is older, or the package names no version.
    """
    if not required:
        return
    lowest = minor_version(required)
    if lowest is None:
        raise CliError(f"unable to parse operators kubernetes version: {required}")
    served = minor_version(server.get("gitVersion") or "")
    # A distribution may name its version in a way that cannot be read: it is not refused.
    if served is not None and served < lowest:
        raise CliError(
            f"expected kubernetes version of {required} is not supported with version: "
            f"{server['gitVersion']}"
        )


def minor_version(text: str) -> MinorVersion | None:
    """Return major and minor of a version as packages write it; None if it is not a version."""
    match = _VERSION.fullmatch(text)
    return (int(match[1]), int(match[2] or 0)) if match else None


def _name(what: str, name: str, where: str, longest: int) -> Iterator[Problem]:
    fault = name_fault(what, name, longest)
    if fault:
        yield Problem("InvalidName", fault, where)


def verify_before_install(args: Args, located: Located, resolution: Resolution) -> None:
    """Refuse a package that has errors, and say how many warnings it has.

    Args:
        args: The command line, with `--skip-verify`.
        located: The package.
        resolution: The package with all that is installed with it.

    Raises:
        CliError: the package or a dependency has errors; the text lists them.
    """
    if args.skip_verify:
        return
    findings = softened((*verify(located.package), *verify_dependencies(located, resolution)))
    errors = [
        finding for finding in findings if finding.is_error and finding.code not in OF_NEW_INSTANCES
    ]
    if errors:
        texts = [located_message(finding) for finding in errors[:MOST_PROBLEMS]]
        more = len(errors) - len(texts)
        texts += [f"and {more} more"] if more else []
        lines = "\n  ".join("\n".join(texts).split("\n"))
        raise CliError(
            f"the package has {_counted(len(errors), 'error')}, so nothing is changed; correct "
            f"that, or leave the verification out with --skip-verify:\n  {lines}",
            code=ExitCode.INVALID,
        )
    # Errors that KUDO 0.19 installed and ran: told, and not refused.
    tolerated = [finding for finding in findings if finding.tolerated]
    for finding in tolerated[:MOST_PROBLEMS]:
        talk(f"Warning: {located_message(finding)}")
    warnings = sum(not finding.is_error for finding in findings)
    if warnings > len(tolerated[:MOST_PROBLEMS]):
        counted = _counted(warnings, "warning")
        talk(f"Package verification: {counted}; kubectl kudo package verify shows them")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
