"""Resolves the packages that the KudoOperator tasks of a package name.

A task names a place (`./db`, `../db`, `db.tgz`), seen from the package that it belongs to, or an
operator, which a lookup of the caller finds. Packages are found depth-first, in the order of the
tasks; tasks that no plan uses count as well. What is found is written into the task, as KUDO 0.19
stores it: operator, operatorVersion and appVersion, from which the engine knows the version's name.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from kudo.api import OperatorVersion, Task, operator_version_name
from kudo.api.problems import InvalidInput, Problem
from kudo.api.task_kinds.kinds import KUDO_OPERATOR
from kudo.packages.files import OPERATOR_FILE
from kudo.packages.location import Located, Location, is_path, is_url
from kudo.packages.model import Package


@dataclass(frozen=True, slots=True)
class DependencyLimits:
    """How much a package may depend on.

    Attributes:
        depth: How many packages may stand above another one.
        packages: How many packages may be read in all, without the first; copies count.
        templates: Characters of the templates of all of them.
    """

    depth: int = 10
    packages: int = 50
    templates: int = 32 * 1024 * 1024


DEFAULT_DEPENDENCY_LIMITS: Final = DependencyLimits()


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a task asks for; versions that it does not name are empty."""

    package: str
    operator_version: str = ""
    app_version: str = ""


Lookup = Callable[[Requirement], OperatorVersion | Located]
"""Finds what a name means: an installed version, or a package of a repository that is to be
installed. Raises InvalidInput if there is neither."""

Stored = Mapping[tuple[str, int], Requirement]
"""What tasks of installed versions name, by the name of the OperatorVersion and the position of the
task in it."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """A package with all that it depends on; their tasks name operators and versions.

    Attributes:
        root: The package itself.
        dependencies: The packages that it brings along, each once, in the order in which they were
            found. What is installed already is not among them.
    """

    root: Package
    dependencies: tuple[Package, ...] = ()


class _Identity(NamedTuple):
    operator: str
    operator_version: str
    app_version: str

    def __str__(self) -> str:
        return operator_version_name(*self)


def depends(package: Package) -> bool:
    """Return whether a package has dependencies."""
    return any(_names_another(task) for task in package.operator.tasks)


def depends_by_name(package: Package) -> bool:
    """Return whether a package has dependencies that are not at a path."""
    return any(
        _names_another(task) and not is_path(task.spec.package or "")
        for task in package.operator.tasks
    )


def resolve(
    root: Located,
    lookup: Lookup | None,
    *,
    stored: Stored | None = None,
    limits: DependencyLimits = DEFAULT_DEPENDENCY_LIMITS,
) -> Resolution:
    """Return the package with everything that it depends on.

    Args:
        root: The package.
        lookup: Finds what tasks name by operator; None leaves such tasks as they are.
        stored: What tasks of installed versions name. A package that is installed again keeps the
            versions that its tasks named before, or its OperatorVersion would not be the same.
        limits: How much it may depend on.

    Raises:
        InvalidInput: a dependency cannot be found or read, two packages of the same version differ,
            packages depend on each other in a circle, or there are more than the limits allow. The
            field names the task.
    """
    walk = _Walk(lookup, stored or {}, limits)
    rewritten = walk.package(root)
    return Resolution(rewritten, tuple(walk.packages.values()))


def check_installed(version: OperatorVersion, lookup: Lookup) -> None:
    """Check that all that an installed version depends on is installed, over all levels.

    Args:
        version: The OperatorVersion.
        lookup: Finds installed versions.

    Raises:
        InvalidInput: as of `resolve`.
    """
    _Walk(lookup, {}, DEFAULT_DEPENDENCY_LIMITS).installed(version, lookup)


class _Walk:
    """One walk through the packages.

    Attributes:
        packages: By the names of their versions; rewritten once they were walked through.
    """

    def __init__(self, lookup: Lookup | None, stored: Stored, limits: DependencyLimits) -> None:
        self.packages: dict[str, Package] = {}
        self._lookup = lookup
        self._stored = stored
        self._limits = limits
        self._as_read: dict[str, Package] = {}
        self._places: dict[str, _Identity] = {}
        self._installed: set[str] = set()
        self._above: list[str] = []
        self._templates = 0

    def package(self, located: Located) -> Package:
        """Return a package whose tasks name what was found."""
        package = located.package
        self._above.append(str(_identity(package)))
        tasks = []
        for position, task in enumerate(package.operator.tasks):
            requirement = _requirement(task)
            stored = self._stored.get((self._above[-1], position))
            # A package that is installed again keeps the versions of that time, if they still fit.
            if (
                stored is not None
                and stored.package == requirement.package
                and requirement.operator_version in {"", stored.operator_version}
                and requirement.app_version in {"", stored.app_version}
            ):
                requirement = stored
            tasks.append(self._task(task, requirement, located.location))
        self._above.pop()
        return replace(
            package, operator=package.operator.model_copy(update={"tasks": tuple(tasks)})
        )

    def installed(self, version: OperatorVersion, lookup: Lookup) -> None:
        """Walk through an OperatorVersion; it is stored with what its tasks name."""
        self._above.append(str(_stored_identity(version)))
        for needed in filter(_names_another, version.spec.tasks or ()):
            self._named(needed, _requirement(needed), lookup)
        self._above.pop()

    def _task(self, task: Task, requirement: Requirement, location: Location) -> Task:
        if not _names_another(task):
            return task
        if is_path(requirement.package) or is_url(requirement.package):
            identity = self._local(task, requirement, location)
        elif self._lookup is not None:
            identity = self._named(task, requirement, self._lookup)
        else:
            return task
        spec = task.spec.model_copy(
            update={
                "package": identity.operator,
                "operator_version": identity.operator_version or None,
                "app_version": identity.app_version or None,
            }
        )
        return task.model_copy(update={"spec": spec})

    def _local(self, task: Task, requirement: Requirement, location: Location) -> _Identity:
        located = None
        with self._naming(task, requirement):
            if is_url(requirement.package):
                text = "URLs are not supported; download the package and name its .tgz file"
                raise InvalidInput([Problem("DependencyUnresolved", text)])
            place = location.place(requirement.package)
        if place not in self._places:
            # Counted before it is read: an archive may name more packages than anybody would wait
            # for.
            self._limit_packages(task, requirement.package, len(self._places) + 1)
            with self._naming(task, requirement):
                located = location.locate(requirement.package)
            # Before the walk below, which may come back to this place: that is a circle.
            self._places[place] = _identity(located.package)
        identity = self._places[place]
        self._refuse_cycle(task, str(identity))
        if located is not None:
            self._take(task, str(identity), located)
        return identity

    def _take(self, task: Task, name: str, located: Located) -> None:
        package, limits = located.package, self._limits
        first = self._as_read.setdefault(name, package)
        if first is not package:
            # Copies of a package at several places are one, as long as nothing in them differs.
            if replace(first, origin="") != replace(package, origin=""):
                text = (
                    f"{first.origin} and {package.origin} are both {name} and differ; give one of "
                    "them another operatorVersion"
                )
                raise _refusal("DependencyAmbiguous", text, task)
            return
        self._templates += sum(map(len, package.templates.values()))
        self._limit(task, name, "are nested too deeply", len(self._above), limits.depth)
        what = "have too many characters of templates"
        self._limit(task, name, what, self._templates, limits.templates)
        # It is on the list before its own dependencies are, which keeps the order of finding.
        self.packages[name] = located.package
        self.packages[name] = self.package(located)

    def _named(self, task: Task, requirement: Requirement, lookup: Lookup) -> _Identity:
        with self._naming(task, requirement):
            dependency = lookup(requirement)
        if isinstance(dependency, Located):
            # A package of a repository, which is installed together with this one.
            identity = _identity(dependency.package)
            name = str(identity)
            self._refuse_cycle(task, name)
            if self._places.setdefault(f"{name} by name", identity) is identity:
                self._limit_packages(task, name, len(self._places))
            self._take(task, name, dependency)
            return identity
        # A version that is installed: nothing is taken, but its own dependencies may be missing.
        identity = _stored_identity(dependency)
        name = str(identity)
        self._refuse_cycle(task, name)
        if name not in self._installed:
            self._installed.add(name)
            self._limit(task, name, "are nested too deeply", len(self._above), self._limits.depth)
            self.installed(dependency, lookup)
        return identity

    def _refuse_cycle(self, task: Task, name: str) -> None:
        if name not in self._above:
            return
        circle = [*self._above[self._above.index(name) :], name]
        text = f"cyclic package dependency found when adding package {self._above[-1]} -> {name}"
        raise _refusal("CircularDependency", f"{text}: {' -> '.join(circle)}", task)

    def _limit_packages(self, task: Task, name: str, count: int) -> None:
        self._limit(task, name, "are too many packages", count, self._limits.packages)

    def _limit(self, task: Task, name: str, what: str, count: int, most: int) -> None:
        if count > most:
            text = f"the dependencies of {self._above[0]} {what}, at {name}: {most} are allowed"
            raise _refusal("DependencyLimit", text, task)

    @contextmanager
    def _naming(self, task: Task, requirement: Requirement) -> Iterator[None]:
        """Prefix problems with the package that was looked for and the task that names it."""
        try:
            yield
        except InvalidInput as error:
            causes = "; ".join(str(problem) for problem in error.problems)
            text = (
                f'failed to resolve package Operator: "{requirement.package}", '
                f'OperatorVersion: "{requirement.operator_version or "any"}", '
                f'AppVersion "{requirement.app_version or "any"}", '
                f"dependency of package {self._above[-1]}: {causes}"
            )
            raise _refusal("DependencyUnresolved", text, task) from error


def _names_another(task: Task) -> bool:
    return task.kind == KUDO_OPERATOR and bool(task.spec.package)


def _requirement(task: Task) -> Requirement:
    spec = task.spec
    return Requirement(spec.package or "", spec.operator_version or "", spec.app_version or "")


def _identity(package: Package) -> _Identity:
    file = package.operator
    return _Identity(file.name, file.operator_version, file.app_version)


def _stored_identity(version: OperatorVersion) -> _Identity:
    spec = version.spec
    return _Identity(version.operator_name, spec.version or "", spec.app_version or "")


def _refusal(reason: str, text: str, task: Task) -> InvalidInput:
    return InvalidInput([Problem(reason, text, f"{OPERATOR_FILE}: tasks[{task.name}]")])
