"""Finds objects of kinds that the cluster does not have when their step runs.

A kind is known if the cluster serves it, or if a CRD of `crdDir`, of `manifestDirs` or of the same
case defines it before. An unknown kind is an error if nothing that runs before can create its CRD,
and else a warning: suites install CRDs by commands, and by packages, too.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from kubectl_kudo.session.kinds import DEFINED
from kubectl_kudo.testing.checks.crds import (
    BUILT_IN_GROUPS,
    command_may_create,
    crds_of,
    defined_by,
    installs_kudo,
    manifests_of,
    object_may_create,
)
from kubectl_kudo.testing.checks.known_kinds import Kind, Kinds, advice
from kubeio.resource import split_api_version
from kudo.api.names import GROUP
from kudo.api.problems import shown_name
from kudo_harness.findings import Findings, Place
from kudo_harness.suite import Case, Command, Document, RefuseWrites, Step, Suite
from kudo_harness.suite.files import FileReader
from kudo_harness.suite.names import Role
from kudo_harness.suite.references import is_url

_KUDO: Final = frozenset((one.api_version, one.kind) for one in DEFINED)
_APPLY: Final = "it cannot be applied"
_ASSERT: Final = "an assert of it can never match"
_ERRORS: Final = "it can never be looked for"
_DELETE: Final = "nothing of it can be deleted"
_FAULT: Final = "this fault can never be caused"
_REF: Final = "the expressions of this assert can never hold"


@dataclass(frozen=True, slots=True)
class _Use:
    """Something that needs a kind.

    Attributes:
        kind: apiVersion and kind.
        effect: What an unknown kind leads to.
        places: Where apiVersion and kind are written.
    """

    kind: Kind
    effect: str
    places: tuple[Place, Place]


@dataclass(slots=True)
class _Known:
    """What is known at a moment of a run.

    Attributes:
        kinds: All kinds that are known.
        open: Whether something ran before that may have created more.
    """

    kinds: set[Kind]
    open: bool = False

    def after(self, commands: Iterable[Command]) -> None:
        """Take note of commands that ran."""
        for command in commands:
            self.open = self.open or command_may_create(command)
            if installs_kudo(command):
                self.kinds.update(_KUDO)


@dataclass(slots=True)
class _Check:
    findings: Findings
    advised: dict[Kind, str] = field(default_factory=dict)
    warned: set[Kind] = field(default_factory=set)
    """Kinds that may come later: one warning is enough, a suite for KUDO has dozens of asserts."""

    def case(self, case: Case, known: _Known) -> None:
        for step in case.steps:
            options = step.options
            commands = options.commands if options else ()
            elsewhere = options is not None and bool(options.kubeconfig or options.context)
            known.after(commands)
            known.open = known.open or any(one.role is Role.APPLY for one in step.downloads)
            if elsewhere:
                # The kinds of another cluster are not known, nor does it change those of this one.
                continue
            for document in step.objects.apply:
                known.kinds.update(defined_by(document))
            for use in _uses_before(step):
                self.use(use, known)
            known.open = known.open or any(map(object_may_create, step.objects.apply))
            for use in _uses_after(step):
                self.use(use, known)

    def use(self, use: _Use, known: _Known) -> None:
        if use.kind in known.kinds:
            return
        api_version, kind = use.kind
        group, _ = split_api_version(api_version)
        if use.kind not in self.advised:
            self.advised[use.kind] = advice(use.kind, known.kinds)
        name = f"{shown_name(kind)} in {shown_name(api_version)}"
        served = any(each[0] == api_version for each in known.kinds)
        place = use.places[1 if served else 0]
        if group == GROUP and not self._has_kudo(known):
            text = f"KUDO is not installed in the cluster, so there is no {name} and {use.effect}"
            more = "; add `kubectl kudo init` to the commands of the suite, or startKUDO: true"
        else:
            text = f"the cluster has no kind {name}, so {use.effect}"
            more = f"; {self.advised[use.kind]}" if self.advised[use.kind] else ""
        if known.open and group not in BUILT_IN_GROUPS:
            text += ", unless something before this step creates its CRD"
            if use.kind not in self.warned:
                self.warned.add(use.kind)
                self.findings.warning("UnknownKind", text + more, place)
        else:
            self.findings.error("UnknownKind", text + more, place)

    def _has_kudo(self, known: _Known) -> bool:
        return any(api_version.startswith(f"{GROUP}/") for api_version, _ in known.kinds)


def check_kinds(suite: Suite, kinds: Kinds, findings: Findings, *, kudo_installed: bool) -> None:
    """Note each object of a suite whose kind the cluster does not have when its step runs.

    Args:
        suite: The suite.
        kinds: The kinds of the cluster.
        findings: Where unknown kinds are noted, with file and line.
        kudo_installed: Whether the run installs KUDO before the cases.
    """
    known = _Known(set(kinds.served))
    if kudo_installed:
        known.kinds.update(_KUDO)
    check = _Check(findings)
    files = FileReader(findings)
    crds = list(crds_of(suite.options, files))
    manifests = list(manifests_of(suite.options, files))
    for document in (*crds, *manifests):
        known.kinds.update(defined_by(document))
    known.open = any(is_url(text.value) for text in suite.options.manifest_dirs)
    for document in (*crds, *manifests):
        check.use(_of_document(document, _APPLY), known)
    known.open = known.open or any(map(object_may_create, manifests))
    known.after(suite.options.commands)
    for folder in suite.test_dirs:
        for case in folder.cases:
            check.case(case, _Known(set(known.kinds), known.open))


def _uses_before(step: Step) -> Iterator[_Use]:
    """Yield what a step needs until it has applied its objects, and for its faults."""
    for one in step.options.delete if step.options else ():
        yield _Use((one.api_version, one.kind), _DELETE, (one.place, one.place))
    yield from (_of_document(document, _APPLY) for document in step.objects.apply)
    for fault in step.options.faults if step.options else ():
        if isinstance(fault.action, RefuseWrites):
            kind = (fault.action.api_version, fault.action.kind)
            yield _Use(kind, _FAULT, (fault.place, fault.place))
        if fault.when is not None:
            yield _of_document(fault.when, _FAULT)


def _uses_after(step: Step) -> Iterator[_Use]:
    """Yield what the asserts of a step need."""
    yield from (_of_document(document, _ASSERT) for document in step.objects.asserts)
    yield from (_of_document(document, _ERRORS) for document in step.objects.errors)
    for ref in step.assert_options.resource_refs if step.assert_options else ():
        yield _Use((ref.api_version, ref.kind), _REF, (ref.place, ref.place))


def _of_document(document: Document, effect: str) -> _Use:
    kind = (str(document.value.get("apiVersion") or ""), str(document.value.get("kind") or ""))
    return _Use(kind, effect, (document.place("apiVersion"), document.place("kind")))
