"""The expressions of an assert: `assertAll` and `assertAny`, over the objects of `resourceRefs`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from kubecel import Environment, LibraryMissing, NotCompiled, Program, environment
from kudo_harness.findings import Findings, Place
from kudo_harness.matching import ABSENT, Absent, cut, is_secret, shown_value
from kudo_harness.suite import AssertOptions, ResourceRef, Text

JsonObject = dict[str, object]
Path = tuple[str | int, ...]

# An expression may name a field again and again, and a message is one line.
_MOST: Final = 5
"""Values of an expression, and names of fields of a mapping."""
_NAME: Final = 60
"""Characters of the name of a field."""
# Possessive: a name is read once, however long it is.
_STEP: Final = r"\.\??[A-Za-z_]\w*+(?!\()|\[\d{1,6}\]|\['[^'\\]{1,200}'\]"
_PATH: Final = re.compile(rf"(?<![\w.'\"])([A-Za-z_]\w*+)((?:{_STEP}){{1,30}})", re.ASCII)
_ELEMENT: Final = re.compile(r"\.\??(\w+)|\[(\d+)\]|\['([^']*)'\]")


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
        texts = (*options.assert_all, *options.assert_any)
        if not texts:
            return cls(options.resource_refs)
        names = tuple(sorted({ref.ref for ref in options.resource_refs}))
        try:
            env = environment(names, _hint(names))
        # Noted once: every expression lacks the same library.
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
        failed = [failure for each in self.all_of if (failure := self._failed(each, objects))]
        alternatives: list[FailedExpression] = []
        for each in self.any_of:
            failure = self._failed(each, objects, len(self.any_of))
            if failure is None:
                # One is enough: the others need not be true.
                return failed
            alternatives.append(failure)
        return failed + alternatives

    def _failed(
        self, compiled: _Compiled, objects: Mapping[str, JsonObject], any_of: int = 1
    ) -> FailedExpression | None:
        # Missing objects are left out, so that `absent` tells which one it needs.
        result = compiled.program.evaluate(objects)
        if result.value:
            return None
        values = values_in(compiled.text.value, objects)
        reason = self._absent(result.absent) if result.absent else result.fault or "is false"
        return FailedExpression(compiled.text, reason, values, any_of)

    def _absent(self, name: str) -> str:
        """Return that an object does not exist yet."""
        ref = next((each for each in self.refs if each.ref == name), None)
        return f"{ref.kind} {ref.name} ({name}) does not exist" if ref else f"no object {name}"


def _hint(names: Sequence[str]) -> str:
    if not names:
        return "the assert has no resourceRefs"
    return f"the refs of the assert are {', '.join(names)}"


def _compiled(env: Environment, texts: Sequence[Text], findings: Findings) -> tuple[_Compiled, ...]:
    programs = []
    for text in texts:
        try:
            programs.append(_Compiled(text, env.compile(text.value)))
        except NotCompiled as error:
            findings.error("InvalidExpression", str(error), text.place)
    return tuple(programs)


def values_in(expression: str, objects: Mapping[str, JsonObject]) -> tuple[str, ...]:
    """Return what the fields are that an expression names, in its order, a few at most."""
    values = dict.fromkeys(_values(expression, objects))
    return tuple(values)[:_MOST]


def _values(expression: str, objects: Mapping[str, JsonObject]) -> Iterator[str]:
    for match in _PATH.finditer(expression):
        obj = objects.get(match[1])
        if obj is None:
            continue
        elements = _ELEMENT.findall(match[2])
        path = tuple(int(index) if index else name or key for name, index, key in elements)
        value = _value(obj, path)
        # The most frequent reason why an expression is not true yet.
        if isinstance(value, Absent):
            yield f"{match[0]} does not exist"
        elif is_secret(obj.get("kind"), path):
            yield f"{match[0]} is left out, since it is of a Secret"
        else:
            yield f"{match[0]} {_said(value)}"


def _said(value: object) -> str:
    if isinstance(value, list):
        return f"has {len(value)} {'item' if len(value) == 1 else 'items'}"
    if isinstance(value, dict):
        names = ", ".join(cut(str(name), _NAME) for name in islice(value, _MOST))
        more = ", …" if len(value) > _MOST else ""
        return f"has {len(value)} {'field' if len(value) == 1 else 'fields'}: {names}{more}"
    return f"is {shown_value(value)}"


def _value(value: object, path: Path) -> object:
    for element in path:
        if isinstance(element, int):
            if not isinstance(value, list) or element >= len(value):
                return ABSENT
            value = value[element]
        elif isinstance(value, dict) and element in value:
            value = value[element]
        else:
            return ABSENT
    return value
