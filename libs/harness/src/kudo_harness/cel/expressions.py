"""The expressions of an assert: `assertAll` and `assertAny`, over the objects of `resourceRefs`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kudo_harness.cel.refs import check_refs
from kudo_harness.cel.runtime import Environment, LibraryMissing, NotCompiled, Program, environment
from kudo_harness.cel.values import values_in
from kudo_harness.findings import Findings, Place
from kudo_harness.matching.difference import cut
from kudo_harness.suite import AssertOptions, ResourceRef, Text

JsonObject = dict[str, object]

_MISSING_LIBRARY: Final = (
    "celExpr needs the library for CEL, which is not installed: run "
    "pip install 'kubectl-kudo[test]' (the single file of the plugin does not have it)"
)
_SHOWN: Final = 300
"""Characters of an expression in a message."""


@dataclass(frozen=True, slots=True)
class FailedExpression:
    """An expression that is not true yet.

    Attributes:
        expression: The expression.
        reason: What it gave instead, in words.
        values: What the fields are that it names, such as `pod.status.phase is Pending`.
        any_of: Number of expressions of which one would have been enough; 1 for `assertAll`.
    """

    expression: Text
    reason: str
    values: tuple[str, ...]
    any_of: int = 1

    @property
    def place(self) -> Place:
        return self.expression.place

    def __str__(self) -> str:
        values = f" ({'; '.join(self.values)})" if self.values else ""
        expression = cut(" ".join(self.expression.value.split()), _SHOWN)
        return f"{self.place}: {expression}: {self.reason}{values}"


@dataclass(frozen=True, slots=True)
class _Compiled:
    text: Text
    program: Program


@dataclass(frozen=True, slots=True)
class Expressions:
    """The compiled expressions of one assert.

    Attributes:
        refs: The objects that they can refer to.
        all_of: Each must be true.
        any_of: One must be true.
    """

    refs: tuple[ResourceRef, ...] = ()
    all_of: tuple[_Compiled, ...] = ()
    any_of: tuple[_Compiled, ...] = ()

    def __len__(self) -> int:
        return len(self.all_of) + len(self.any_of)

    @classmethod
    def compile(cls, options: AssertOptions, findings: Findings) -> "Expressions":
        """Compile all expressions of an assert; note those that cannot be, with file and line."""
        check_refs(options.resource_refs, findings)
        texts = (*options.assert_all, *options.assert_any)
        if not texts:
            return cls(options.resource_refs)
        names = tuple(sorted({one.ref for one in options.resource_refs}))
        try:
            env = environment(names)
        except LibraryMissing:
            findings.error("NoCelLibrary", _MISSING_LIBRARY, texts[0].place)
            return cls(options.resource_refs)
        return cls(
            refs=options.resource_refs,
            all_of=_compiled(env, options.assert_all, findings),
            any_of=_compiled(env, options.assert_any, findings),
        )

    def evaluate(self, objects: Mapping[str, JsonObject]) -> list[FailedExpression]:
        """Return the expressions that fail; nothing if the assert holds.

        Args:
            objects: The objects by their `ref`; those that do not exist are left out.
        """
        failed = [one for each in self.all_of if (one := self._failed(each, objects))]
        alternatives: list[FailedExpression] = []
        for each in self.any_of:
            one = self._failed(each, objects, len(self.any_of))
            if one is None:
                return failed
            alternatives.append(one)
        return failed + alternatives

    def _failed(
        self, compiled: _Compiled, objects: Mapping[str, JsonObject], any_of: int = 1
    ) -> FailedExpression | None:
        outcome = compiled.program.evaluate(objects)
        if not outcome.reason:
            return None
        values = values_in(compiled.text.value, objects)
        reason = self._absent(outcome.absent) if outcome.absent else outcome.reason
        return FailedExpression(compiled.text, reason, values, any_of)

    def _absent(self, name: str) -> str:
        """Return that an object does not exist yet."""
        ref = next((one for one in self.refs if one.ref == name), None)
        return f"{ref.kind} {ref.name} ({name}) does not exist" if ref else f"no object {name}"


def _compiled(env: Environment, texts: Sequence[Text], findings: Findings) -> tuple[_Compiled, ...]:
    found = []
    for text in texts:
        try:
            found.append(_Compiled(text, env.compile(text.value)))
        except NotCompiled as error:
            findings.error("InvalidExpression", str(error), text.place)
    return tuple(found)
