"""Finds what is in the cluster: objects of a package, and OperatorVersions that tasks require."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pydantic import ValidationError

from kubectl_kudo.packages.install_set import InstallSet, check_kubernetes
from kubectl_kudo.packages.sources import resolve_names
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.blocks import printable
from kubectl_kudo.session.errors import CliError, ExitCode
from kubectl_kudo.session.kinds import OPERATOR_VERSIONS, OPERATORS
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kubectl_kudo.session.terminal import word
from kubeio.errors import Forbidden, NotFound
from kubeio.resource import NAMESPACES, Resource
from kudo.api import OperatorVersion, operator_version_name
from kudo.api.problems import InvalidInput, Problem
from kudo.api.semver import rank
from kudo.api.task_kinds.kinds import KUDO_OPERATOR
from kudo.packages.location import Located
from kudo.packages.resolution import Lookup, Requirement, Resolution, Stored, depends

_NAMED_LISTS = ("tasks", "parameters")
_SHOWN = 5
_MOST_VERSIONS = 20


@dataclass(frozen=True, slots=True)
class Existing:
    """The objects of a package that exist already.

    Attributes:
        objects: By plural and name.
        replaced: Names of the OperatorVersions whose content is to be replaced.
    """

    objects: Mapping[tuple[str, str], JsonObject]
    replaced: frozenset[str] = frozenset()

    def get(self, kind: Resource, name: str) -> JsonObject | None:
        """Return an object of the package; None if it does not exist."""
        return self.objects.get((kind.plural, name))


async def with_dependencies(session: Session, args: Args, located: Located) -> Resolution:
    """Return the package with all that it depends on.

    Raises:
        InvalidInput: as of `resolve`.
    """
    if not depends(located.package):
        return Resolution(located.package)
    versions = (await session.client.list(OPERATOR_VERSIONS, namespace=session.namespace)).items
    installed = lookup_in(session.namespace, versions)
    return await resolve_names(located, installed, args, stored_requirements(versions))


async def find_installed(
    session: Session, install_set: InstallSet, *, replace: bool = False
) -> Existing:
    """Return the objects to install that exist already, after checking that they are the same.

    Args:
        session: The connection.
        install_set: The objects to install.
        replace: Whether OperatorVersions with other content are to be replaced.

    Raises:
        CliError: the cluster is too old, or an OperatorVersion has other content there.
    """
    server = await session.client.server_version()
    for objects in install_set.all:
        check_kubernetes(objects.operator.spec.kubernetes_version, server)
    there: dict[tuple[str, str], JsonObject] = {}
    for kind, obj in install_set.in_order():
        name = obj["metadata"]["name"]
        with suppress(NotFound):
            there[kind.plural, name] = await session.client.get(
                kind, name, namespace=session.namespace
            )
    replaced = set()
    for objects in install_set.all:
        version = objects.operator_version
        stored = there.get((OPERATOR_VERSIONS.plural, version.metadata.name))
        if stored is not None and replace:
            replaced |= {version.metadata.name} if any(differences(stored, version)) else set()
        elif stored is not None:
            check_same(stored, version)
    root = install_set.root.operator_version.metadata.name
    if (OPERATOR_VERSIONS.plural, root) in there and root not in replaced:
        session.report.say(f"operatorversion {session.namespace}/{root} already installed")
    return Existing(there, frozenset(replaced))


async def check_server(session: Session, version: OperatorVersion) -> None:
    """Check that the server is new enough for an operator that is installed.

    Raises:
        CliError: it is older.
    """
    try:
        operator = await session.client.get(
            OPERATORS, version.operator_name, namespace=session.namespace
        )
    except NotFound:  # only the lowest version of Kubernetes is read from it
        return
    required = (operator.get("spec") or {}).get("kubernetesVersion")
    check_kubernetes(required, await session.client.server_version())


async def check_namespace(session: Session) -> None:
    """Check that the namespace exists.

    Raises:
        CliError: it does not, or is being deleted.
    """
    name = session.namespace
    try:
        namespace = await session.client.get(NAMESPACES, name)
    except NotFound:
        hint = f"create it first: kubectl create namespace {name}"
        text = f'namespaces "{name}" not found; {hint}'
        raise CliError(text, code=ExitCode.NOT_FOUND) from None
    except Forbidden:
        # Users of one namespace often may not read it; the first write shows whether it exists.
        return
    if namespace["metadata"].get("deletionTimestamp"):
        raise CliError(f'namespace "{name}" is being deleted; nothing can be installed in it')


def check_same(stored: JsonObject, desired: OperatorVersion) -> None:
    """Check that an OperatorVersion of that name has the content of the package.

    Raises:
        CliError: it has other content; the text names the fields and what can be done.
    """
    differing = list(differences(stored, desired))
    if not differing:
        return
    namespace, name = desired.metadata.namespace, desired.metadata.name
    more = f" and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
    fields = word(", ".join(differing[:_SHOWN]))
    raise CliError(
        f"operatorversion {namespace}/{name} is installed already and has other content than the "
        f"package (it differs in {fields}{more}); give the package another operatorVersion, or, "
        "while you develop it, replace the installed one with `kubectl kudo install --upgrade "
        "--replace-version`"
    )


def differences(stored: JsonObject, desired: OperatorVersion) -> Iterator[str]:
    """Yield the fields of the spec in which the two differ, down to named entries."""
    try:
        # Both go through the models: what the stored one has by default is no difference.
        there = OperatorVersion.from_wire(stored).to_wire().get("spec") or {}
    except ValidationError:
        yield "spec"
        return
    ours = desired.to_wire().get("spec") or {}
    for key in sorted({*there, *ours}):
        if there.get(key) == ours.get(key):
            continue
        before, after = _by_name(key, there.get(key)), _by_name(key, ours.get(key))
        names = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
        yield from (f"spec.{key}[{name}]" for name in names)
        if not names:
            yield f"spec.{key}"


def _by_name(key: str, value: object) -> dict[str, object]:
    if isinstance(value, dict) and key in {"templates", "plans"}:
        return value
    if isinstance(value, list) and key in _NAMED_LISTS:
        return {str(entry.get("name")): entry for entry in value}
    return {}


def lookup_in(namespace: str, versions: Sequence[JsonObject]) -> Lookup:
    """Return the lookup over these OperatorVersions: the newest that fits, by appVersion first.

    The reconciler finds it by a name made of operator and versions, so others do not count.
    """

    def lookup(requirement: Requirement) -> OperatorVersion:
        newest = max(
            _fitting(requirement, versions),
            key=lambda v: (*rank(v.spec.app_version or ""), *rank(v.spec.version or "")),
            default=None,
        )
        if newest is None:
            text = (
                f'failed to resolve operator version in namespace "{namespace}" for name '
                f'"{requirement.package}", version "{requirement.operator_version}", appVersion '
                f'"{requirement.app_version}"; install it first (kubectl kudo install <its '
                f"folder> --skip-instance -n {namespace}), or name its folder or .tgz file in "
                f"the task, such as ./{requirement.package}"
            )
            raise InvalidInput([Problem("OperatorVersionNotFound", text)])
        return newest

    return lookup


def version_of_operator(
    namespace: str, versions: Sequence[JsonObject], operator: str, name: str, app_version: str
) -> OperatorVersion:
    """Return the OperatorVersion of an operator that a user names.

    Args:
        namespace: Where the OperatorVersions are.
        versions: The OperatorVersions.
        operator: Name of the operator.
        name: Its operatorVersion, or the name of the OperatorVersion.
        app_version: Its appVersion; empty for any.

    Raises:
        CliError: there is none, or several; the text names the candidates.
    """
    own = [
        version
        for wire in versions
        if ((wire.get("spec") or {}).get("operator") or {}).get("name") == operator
        and (version := _read(wire)) is not None
    ]
    own.sort(key=lambda v: (rank(v.spec.version or ""), rank(v.spec.app_version or "")))
    named = [
        version
        for version in own
        if name in {version.spec.version, version.metadata.name}
        and app_version in {"", version.spec.app_version}
    ]
    if len(named) == 1:
        return named[0]
    if named:
        apps = {version.spec.app_version for version in named}
        how = "--app-version" if len(apps) == len(named) and None not in apps else "its name"
        raise CliError(
            f"operator {operator} has several versions {word(name)} in namespace {namespace}: "
            f"{_listed(named)}; say which with {how}"
        )
    app = f" with app version {word(app_version)}" if app_version else ""
    listing = _listed(own) if own else "none"
    raise CliError(
        f"operator {operator} has no version {word(name)}{app} in namespace {namespace}; the "
        f"versions there are: {listing}",
        code=ExitCode.NOT_FOUND,
    )


def _listed(versions: Sequence[OperatorVersion]) -> str:
    """Return versions of one operator in words, the newest first."""
    texts = []
    for version in reversed(versions):
        spec = version.spec
        app = f", app version {spec.app_version}" if spec.app_version else ""
        texts.append(printable(f"{spec.version or '(none)'} ({version.metadata.name}{app})"))
    more = f" and {len(texts) - _MOST_VERSIONS} more" if len(texts) > _MOST_VERSIONS else ""
    return f"{', '.join(texts[:_MOST_VERSIONS])}{more}"


def stored_requirements(versions: Sequence[JsonObject]) -> Stored:
    """Return what the KudoOperator tasks of these OperatorVersions name."""
    return {
        (version.metadata.name, position): Requirement(
            task.spec.package, task.spec.operator_version or "", task.spec.app_version or ""
        )
        for version in filter(None, map(_read, filter(_has_children, versions)))
        for position, task in enumerate(version.spec.tasks or ())
        if task.kind == KUDO_OPERATOR and task.spec.package
    }


def no_cluster(requirement: Requirement) -> OperatorVersion:
    """Fail with InvalidInput, where no cluster could be reached."""
    text = f"whether operator {requirement.package} is installed is unknown without a cluster"
    raise InvalidInput([Problem("DependencyUnresolved", text)])


def _fitting(requirement: Requirement, versions: Sequence[JsonObject]) -> Iterator[OperatorVersion]:
    for wire in versions:
        operator = ((wire.get("spec") or {}).get("operator") or {}).get("name")
        version = _read(wire) if operator == requirement.package else None
        if version is None:
            continue
        number, app = version.spec.version or "", version.spec.app_version or ""
        fits = requirement.operator_version in {"", number} and requirement.app_version in {"", app}
        name = operator_version_name(requirement.package, number, app)
        if fits and version.metadata.name == name:
            yield version


def _has_children(wire: JsonObject) -> bool:
    """Return whether an OperatorVersion has KudoOperator tasks, without reading its templates."""
    tasks = (wire.get("spec") or {}).get("tasks") or ()
    return any(isinstance(task, dict) and task.get("kind") == KUDO_OPERATOR for task in tasks)


def _read(wire: JsonObject) -> OperatorVersion | None:
    try:
        return OperatorVersion.from_wire(wire)
    except ValidationError:
        return None
