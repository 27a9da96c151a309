"""Checks whether texts are values of a type, once each and within limits, and fit their parameter.

`Checker` serves one decision on an event loop. It reads arrays and maps, which are YAML, within a
budget that all values of the decision share. What the budget does not cover, and what a pattern is
to match, is `pending` and is read by a worker process (`kudo.jobs.check`); then the decision is
made again with the answer.
`CheckResults` keeps what all decisions found, so no value is read twice and one that was too large
is refused at once.

Imports no models, so that workers start without them.
"""

import hashlib
import json
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from goyaml import DEFAULT_LIMITS, INLINE, Budget, YamlError, load
from kudo.api.problems import SHOWN, Problem, listed, parameter_field, shown, shown_name
from kudo.api.value_bounds import ValueBounds
from kudo.parameters.bounds import breach_of
from kudo.parameters.types import TYPES, is_container, scalar_fault, typed

if TYPE_CHECKING:  # worker processes start without the models
    from kudo.api import Parameter


# Characters of a parser's message; libyaml repeats parts of the text.
_DETAIL: Final = 200
# Characters of a scalar that is read again rather than remembered.
_SHORT: Final = 100
_KEY: Final = secrets.token_bytes(32)
"""Of the digests in a cache: values may be secrets, and its entries outlive them."""
_HINT: Final = "; give it a smaller value"
_WITH_OTHERS: Final = "with the other arrays and maps of this request, "


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a text is not a value of its type, or not within its bounds.

    Attributes:
        detail: What the parser says; empty where the YAML is right and of another type. Of a
            bound, the whole text: which one, and what to do.
        limit: Name of the limit that the value exceeds, else empty.
        together: Whether only all values of one decision exceed that limit. Then the fault is
            none of this value alone.
        bound: Word of the bound that the value breaks; empty where its type is wrong.
    """

    detail: str = ""
    limit: str = ""
    together: bool = False
    bound: str = ""


Value = tuple[str, str, str]
"""Type, text, and the text of the bounds, which is empty if there are none."""


class Check(Protocol):
    """Returns what is wrong with a text of a type, None if nothing is."""

    def __call__(
        self, value_type: str, text: str, bounds: ValueBounds | None = None, /
    ) -> Fault | None: ...


# Limits that the values of one decision share; each has its own depth.
_SHARED: Final = frozenset({"size", "nodes", "aliased", "directives"})


def read(
    value_type: str, text: str, budget: Budget, bounds: ValueBounds | None = None
) -> Fault | None:
    """Return what is wrong with a text of a type.

    Arrays and maps are YAML, where null is right for both; for all other types see `scalars`.

    Args:
        value_type: Any; unknown ones accept every text.
        text: The text, which is not empty.
        budget: What reading YAML may cost, together with other values.
        bounds: What a value has to be besides.
    """
    if not is_container(value_type):
        detail = scalar_fault(value_type, text)
        if detail is not None:
            return Fault(detail)
        return None if bounds is None else _outside(bounds, typed(value_type, text))
    try:
        content = load(text, budget=budget)
    except YamlError as error:
        hint = _HINT if error.limit else ""
        return Fault(shown(str(error), _DETAIL) + hint, error.limit)
    expected = TYPES[value_type].container
    if content is not None and type(content) is not expected:
        return Fault()
    return None if bounds is None else _outside(bounds, content)


def _outside(bounds: ValueBounds, value: object) -> Fault | None:
    breach = breach_of(bounds, value)
    return None if breach is None else Fault(str(breach), bound=breach.bound)


def read_fully(value_type: str, text: str, bounds: ValueBounds | None = None, /) -> Fault | None:
    """Return what is wrong with one text, without a shared budget."""
    return read(value_type, text, Budget(DEFAULT_LIMITS), bounds)


class FullReader:
    """Reads the values of one decision, each once, with the full limits, which they share.

    For worker processes: it takes as long as the limits allow.

    Attributes:
        spent: Whether a shared limit is exceeded.
    """

    def __init__(self) -> None:
        self._budget = Budget(DEFAULT_LIMITS)
        self._known: dict[Value, Fault | None] = {}
        self.spent = False

    def __call__(
        self, value_type: str, text: str, bounds: ValueBounds | None = None, /
    ) -> Fault | None:
        value = _value(value_type, text, bounds)
        if value not in self._known:
            self._known[value] = self._read(value_type, text, bounds)
        return self._known[value]

    def _read(self, value_type: str, text: str, bounds: ValueBounds | None) -> Fault | None:
        fault = read(value_type, text, self._budget, bounds)
        if fault is None or fault.limit not in _SHARED:
            return fault
        self.spent = True
        if not self._known:
            # It is the first one, so it exceeds the limit alone.
            return fault
        return Fault(_WITH_OTHERS + fault.detail, fault.limit, together=True)


def read_all(
    values: Iterable[Value], begin: Callable[[int], None] | None = None
) -> list[Fault | None]:
    """Return what is wrong with each of several values, which share the full limits.

    Ends at the first value that exceeds a shared limit: what follows is not read, so the result
    is shorter than the input.

    Args:
        values: Types, texts and texts of bounds.
        begin: Called with the number of each value before it is read.
    """
    reader, faults = FullReader(), list[Fault | None]()
    for number, (value_type, text, bounds) in enumerate(values):
        if begin is not None:
            begin(number)
        faults.append(reader(value_type, text, ValueBounds.from_text(bounds) if bounds else None))
        if reader.spent:
            break
    return faults


class CheckResults:
    """LRU cache of check results, by the digest of the text.

    Args:
        entries: How many are kept. One takes less than 600 bytes, since details are bounded.
    """

    def __init__(self, entries: int = 8192) -> None:
        self._entries = entries
        self._known: OrderedDict[bytes, Fault | None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def find(self, digest: bytes) -> tuple[Fault | None] | None:
        """Return the result as a tuple of one; None if there is none."""
        if digest not in self._known:
            return None
        self._known.move_to_end(digest)
        return (self._known[digest],)

    def keep(self, digest: bytes, fault: Fault | None) -> None:
        self._known[digest] = fault
        self._known.move_to_end(digest)
        if len(self._known) > self._entries:
            self._known.popitem(last=False)


class Checker:
    """Checks the values of one decision; may be used for that decision repeatedly.

    Args:
        results: What is known from other decisions.

    Attributes:
        pending: Arrays and maps that were not read, since the budget is spent, and values that
            patterns are to match. Before the decision counts, `learn` or `give_up` must say what
            they are.
        reads: Number of values that were read here, short scalars aside.
    """

    def __init__(self, results: CheckResults) -> None:
        self._results = results
        self._budget = Budget(INLINE)
        # By text, not by digest: a parameter that is declared a thousand times has one text, whose
        # hash Python keeps, and digesting a megabyte a thousand times would take a second.
        self._known: dict[Value, Fault | None] = {}
        self._pending: dict[Value, None] = {}
        self.reads = 0

    @property
    def pending(self) -> tuple[Value, ...]:
        return tuple(self._pending)

    def __call__(
        self, value_type: str, text: str, bounds: ValueBounds | None = None, /
    ) -> Fault | None:
        """Return what is wrong with a text; None also while that is not known."""
        patterned = bounds is not None and bounds.patterned
        scalar = not is_container(value_type) and not patterned
        if scalar and len(text) <= _SHORT:
            return read(value_type, text, self._budget, bounds)
        value = _value(value_type, text, bounds)
        if value in self._known or value in self._pending:
            return self._known.get(value)
        if scalar:
            # A scalar costs no more than hashing it, so it is not looked up in the cache.
            fault = self._known[value] = self._read(value_type, text, bounds)
            return fault
        digest = _digest(value)
        result = self._results.find(digest)
        if result is not None:
            self._known[value] = result[0]
            return result[0]
        # A pattern may take a tenth of a second, which nothing can interrupt. Once the budget is
        # spent, not even a parser is set up: there may be thousands of values.
        left = patterned or bool(self._pending)
        fault = None if left else self._read(value_type, text, bounds)
        if left or (fault is not None and fault.limit in _SHARED):
            # The limit of this budget, not the one that counts: a worker has the full one.
            self._pending[value] = None
            return None
        self._settle(value, digest, fault)
        return fault

    def _read(self, value_type: str, text: str, bounds: ValueBounds | None) -> Fault | None:
        self.reads += 1
        return read(value_type, text, self._budget, bounds)

    def known_batch(self) -> bool:
        """Settle the pending values if exactly these were too large before; return whether."""
        batch = _batch(self._pending)
        refusal = self._results.find(batch)
        if refusal is None or refusal[0] is None:
            return False
        # The values at which the batch was given up; none if that was at all of them.
        blamed = [v for v in self._pending if self._results.find(_within(batch, v)) is not None]
        self._blame(refusal[0], blamed or tuple(self._pending))
        return True

    def learn(self, faults: Iterable[Fault | None]) -> None:
        """Take the answer of a worker for the pending values, in their order."""
        # The worker ends at the first value that exceeds a shared limit, so answers may be fewer.
        settled = dict(zip(self._pending, faults, strict=False))
        for value, fault in settled.items():
            if fault is not None and fault.together:
                # What was read before this value is not kept: the same request would get a little
                # further each time that it is sent, and be allowed in the end.
                batch = _batch(self._pending)
                self._results.keep(batch, fault)
                self._results.keep(_within(batch, value), fault)
                self._blame(fault, (value,))
                return
        for value, fault in settled.items():
            self._settle(value, _digest(value), fault)
        # What was not read is behind a value that is too large, which decides by itself.
        for value in self._pending:
            self._known.setdefault(value, None)
        self._pending.clear()

    def give_up(self, limit: str, detail: str, at: int | None = None) -> None:
        """Refuse pending values, because a worker exceeded a limit with them.

        Args:
            limit: Name of the limit.
            detail: What the worker exceeded, for people.
            at: Number of the value that it was reading; None, or a number that there is not, for
                any of them.
        """
        pending = tuple(self._pending)
        alone = len(pending) == 1
        blamed = pending if at is None else pending[at : at + 1] or pending
        if not alone and len(blamed) == 1:
            detail = _WITH_OTHERS + detail
        fault = Fault(shown(detail, _DETAIL) + _HINT, limit, together=not alone)
        # The wall clock also runs while others have the CPU, so it proves nothing for next time.
        if limit != "wall":
            batch = _batch(pending)
            self._results.keep(batch, fault)
            for value in blamed if blamed != pending else ():
                self._results.keep(_within(batch, value), fault)
        self._blame(fault, blamed)

    def _blame(self, fault: Fault, blamed: Iterable[Value]) -> None:
        """Settle the pending values: a fault for some, nothing wrong with the others."""
        self._known.update(dict.fromkeys(self._pending))
        self._known.update(dict.fromkeys(blamed, fault))
        self._pending.clear()

    def _settle(self, value: Value, digest: bytes, fault: Fault | None) -> None:
        self._known[value] = fault
        if fault is None or not fault.together:
            self._results.keep(digest, fault)


def _value(value_type: str, text: str, bounds: ValueBounds | None) -> Value:
    return value_type, text, "" if bounds is None else bounds.text


def _digest(value: Value) -> bytes:
    value_type, text, bounds = value
    # Lengths, since each part may contain anything. Texts from JSON may hold single surrogates,
    # which UTF-8 has no bytes for.
    parts = f"{len(value_type)}:{len(bounds)}:{value_type}{bounds}{text}"
    content = parts.encode(errors="surrogatepass")
    return hashlib.blake2b(content, digest_size=32, key=_KEY).digest()


def _batch(values: Iterable[Value]) -> bytes:
    return hashlib.sha256(b"".join(_digest(value) for value in values)).digest()


def _within(batch: bytes, value: Value) -> bytes:
    """Return what stands for a value as one of a batch."""
    return hashlib.sha256(batch + _digest(value)).digest()


def check_value(parameter: "Parameter", value: str, check: Check = read_fully) -> Problem | None:
    """Return what is wrong with `value` for `parameter`: its type, its bounds, or its enum.

    An empty value is valid for every parameter without `minLength`; `missing_required` checks
    whether one is needed. Types are checked as in Go: integers are decimal and fit 64 bits, numbers
    are what `strconv.ParseFloat` reads, arrays and maps are YAML where null passes. Unknown types
    accept anything.

    Args:
        parameter: Its definition.
        value: The value that an Instance sets.
        check: Checks the value. The default has no time limit.
    """
    bounds = parameter.bounds
    if not value and not _needs_characters(parameter):
        return None
    if parameter.secret:
        return _secret_problem(parameter, value, check)
    value_type = parameter.value_type or ""
    allowed = parameter.enum is None or value in parameter.enum
    # What the enum lacks is wrong anyway, so no pattern has to match it.
    fault = check(value_type, value, bounds if allowed else None)
    if fault is None and allowed:
        return None
    name, field = shown_name(parameter.name), parameter_field(parameter.name)
    quoted = json.dumps(shown(value), ensure_ascii=False)
    if fault is not None and fault.limit:
        # A reason of its own, since no fault is to be looked for in the text.
        text = f'parameter "{name}" of type "{value_type}" has a value that is too large'
        return Problem("ParameterTooLarge", f"{text}: {fault.detail}", field, fault.limit)
    if fault is not None and fault.bound:
        text = fault.detail
    elif fault is not None and not is_container(value_type):
        text = f'type is "{value_type}" but format of {quoted} is invalid: {fault.detail}'
    elif fault is not None:
        # YAML of several lines would be hard to read in quotes.
        text = f'type is "{value_type}", but format of {shown(value)} is invalid'
        text = f"{text}: {fault.detail}" if fault.detail else text
    else:
        values = listed(parameter.enum or (), " ", most=SHOWN)
        text = f"value is {quoted}, but only allowed values are [{values}]"
    text = f'parameter "{name}" has an invalid value {quoted}: {text}'
    return Problem("ParameterInvalid", text, field)


def _secret_problem(parameter: "Parameter", value: str, check: Check) -> Problem | None:
    """Return that a secret value is wrong, but not how: that would tell something of it."""
    allowed = parameter.enum is None or value in parameter.enum
    fault = check(parameter.value_type or "", value, parameter.bounds if allowed else None)
    if fault is None and allowed:
        return None
    reason = "ParameterTooLarge" if fault is not None and fault.limit else "ParameterInvalid"
    text = (
        f'parameter "{shown_name(parameter.name)}" is secret, and its value is not one that its '
        "type, enum and bounds allow; compare it with the definition of the parameter"
    )
    limit = fault.limit if fault is not None else ""
    return Problem(reason, text, parameter_field(parameter.name), limit)


def _needs_characters(parameter: "Parameter") -> bool:
    """Return whether an empty text is too short; `missing_required` says it of required ones."""
    if not parameter.min_length or (parameter.required and parameter.default is None):
        return False
    return parameter.value_type in {None, "", "string"}


def missing_required(
    parameters: Iterable["Parameter"], values: Mapping[str, object]
) -> tuple[Problem, ...]:
    """Return a problem for each required parameter without a default whose value is empty.

    A reference to a value counts as one.
    """
    return tuple(
        Problem(
            "ParameterRequired",
            f'parameter "{shown_name(parameter.name)}" is required but has no value set',
            parameter_field(parameter.name),
        )
        for parameter in parameters
        if parameter.required and parameter.default is None and not values.get(parameter.name)
    )
