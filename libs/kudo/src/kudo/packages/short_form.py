"""The short form of `operator.yaml`, and the long form that it stands for.

    plans:                                plans:
      deploy:                               deploy:
        steps:                                strategy: serial
          - include: ready       means        phases:
          - name: app                           - name: main
            apply: [app.yaml]                     strategy: serial
    fragments:                                    steps:
      ready:                                        - {name: probe, tasks: [probe]}
        - name: probe                               - {name: app, tasks: [app]}
          apply: [probe.yaml]             tasks:
                                            - {name: probe, kind: Apply, spec: {resources: ...}}
                                            - {name: app, kind: Apply, spec: {resources: ...}}

All that is stored and run is the long form; what people read of a package, such as the place of a
finding, is of the file as it was written. A file that uses nothing of this means what it meant for
KUDO 0.19, and is passed on as it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from kudo.api import bounds
from kudo.api.problems import kind_of_value, path_text, shown_name
from kudo.api.task_kinds import KINDS
from kudo.packages.fields import text_of
from kudo.packages.source import Named, Path, PathElement

PHASE: Final = "main"
"""Name of the only phase of a plan that is written without phases."""
INLINE: Final[Mapping[str, str]] = MappingProxyType(
    {name[0].lower() + name[1:]: name for name in KINDS}
)
"""Kinds of tasks by the field of a step that holds such a task: `kudoOperator`."""
LISTED: Final = frozenset(
    word for word, name in INLINE.items() if KINDS[name].needed == ("resources",)
)
"""Of these, those of which a list alone is the `resources`."""

_Mapping = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a short form.

    Attributes:
        message: In words.
        path: The field, in the file as it was written.
    """

    message: str
    path: Path


@dataclass(slots=True)
class Expansion:
    """A file in the long form.

    Attributes:
        file: The document as it was written.
        document: The long form; the document itself if it is one.
        faults: What is wrong with the short form.
        unused: Names of the fragments that no plan includes.
        places: Where the parts of the long form are written, by their paths; what is not below one
            of these stands in the same place in both. All paths have positions, and no names.
    """

    file: object
    document: object
    faults: list[Fault] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    places: dict[Path, Path] = field(default_factory=dict)

    @property
    def is_short(self) -> bool:
        """Whether the file is written in the short form."""
        return self.document is not self.file

    def written(self, path: Path) -> Path:
        """Return where a field of the long form stands in the file, items by their names."""
        return _with_names(self.file, self.place(path)) if self.is_short else path

    def place(self, path: Path) -> Path:
        """Return the same with the positions of items."""
        plain = _with_positions(self.document, path)
        for length in range(len(plain), 0, -1):
            place = self.places.get(plain[:length])
            if place is not None:
                return (*place, *plain[length:])
        return plain

    def texts(self) -> dict[str, str]:
        """Return `places` as the messages of reading show paths."""
        return {path_text(path): path_text(place) for path, place in self.places.items()}


def expand(document: object) -> Expansion:
    """Return what a document stands for.

    What is not as it should be, and no matter of the short form, stays as it is: reading the long
    form tells of it.
    """
    expansion = Expansion(document, document)
    if isinstance(document, dict):
        long = _Expander(document, expansion).document()
        # Otherwise the document itself goes on, so that places and key orders stay as written.
        if long != document or expansion.faults:
            expansion.document = long
    return expansion


class _TooManySteps(Exception):
    """Fragments that include each other more than once may stand for any number of steps."""


@dataclass(slots=True)
class _Expander:
    """Expands one document.

    Attributes:
        file: The document.
        tasks: Those of the file, and then those that stand in steps.
        made: The steps in the long form by where they are written: an included one is made once.
        used: Names of the fragments that plans include.
        included: How many steps were included so far, each time they were.
    """

    file: _Mapping
    expansion: Expansion
    tasks: list[Any] = field(default_factory=list)
    made: dict[Path, object] = field(default_factory=dict)
    inline: dict[str, Path] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    included: int = 0

    def document(self) -> _Mapping:
        # Keys match whatever their case, as in Go.
        tasks = self.file.get(_key(self.file, "tasks"))
        self.tasks = [*tasks] if isinstance(tasks, list) else []
        declared = len(self.tasks)
        plans = self.file.get("plans")
        long = {**self.file}
        if isinstance(plans, dict):
            try:
                long["plans"] = {name: self._plan(name, plan) for name, plan in plans.items()}
            # Fragments that include others twice double with each level.
            except _TooManySteps:
                message = f"include more than {bounds.STEPS_IN_ALL} steps"
                self._fault(message, "plans")
        fragments = _mapping(long, "fragments")
        self.expansion.unused += (name for name in fragments if name not in self.used)
        # The steps of a fragment are those of the plans that include it.
        long.pop("fragments", None)
        if len(self.tasks) > declared:
            long[_key(self.file, "tasks")] = self.tasks
        return long

    def _plan(self, name: str, plan: object) -> object:
        at: Path = ("plans", name)
        if not isinstance(plan, dict):
            return plan
        phases_key = _key(plan, "phases")
        if "steps" not in plan:
            phases = plan.get(phases_key)
            if not isinstance(phases, list):
                return plan
            below = (*at, phases_key)
            made = [
                self._phase(phase, (*below, n), ("plans", name, "phases", n))
                for n, phase in enumerate(phases)
            ]
            return plan if made == phases else {**plan, phases_key: made}
        if phases_key in plan:
            self._fault("a plan has either steps or phases", *at, "steps")
            return plan
        steps_at, phase_at = (*at, "steps"), (*at, "phases", 0)
        places = self.expansion.places
        places[at] = at
        places[*at, "phases"] = places[*phase_at, "steps"] = steps_at
        places[phase_at] = at
        places[*phase_at, "strategy"] = (*at, "strategy")
        strategy_key = _key(plan, "strategy")
        strategy = plan.get(strategy_key) or "serial"
        phase: _Mapping = {"name": PHASE, "strategy": strategy, "steps": plan["steps"]}
        if isinstance(plan["steps"], list):
            phase["steps"] = self._steps(plan["steps"], steps_at, (*phase_at, "steps"), (name,))
        else:
            self._fault(f"must be a list, not {kind_of_value(plan['steps'])}", *steps_at)
            phase["steps"] = []
        rest = {key: value for key, value in plan.items() if key not in {"steps", strategy_key}}
        return {"strategy": "serial", **rest, "phases": [phase]}

    def _phase(self, phase: object, at: Path, long_at: Path) -> object:
        steps_key = _key(phase, "steps") if isinstance(phase, dict) else ""
        steps = phase.get(steps_key) if isinstance(phase, dict) else None
        if not isinstance(phase, dict) or not isinstance(steps, list):
            return phase
        made = self._steps(steps, (*at, steps_key), (*long_at, "steps"), (str(at[1]),))
        return phase if made == steps else {**phase, steps_key: made}

    def _steps(
        self, steps: Sequence[object], at: Path, long_at: Path, chain: tuple[str, ...]
    ) -> list[object]:
        made: list[object] = []
        for step, place in self._flat(steps, at, chain):
            long = self._step(step, place, (*long_at, len(made)))
            made.append(long)
        return made

    def _flat(
        self, steps: Sequence[object], at: Path, chain: tuple[str, ...]
    ) -> Iterator[tuple[object, Path]]:
        """Yield the steps of a list and where they are written, included ones in their place."""
        for position, step in enumerate(steps):
            place = (*at, position)
            if len(chain) > 1:
                self.included += 1
                if self.included > bounds.STEPS_IN_ALL:
                    raise _TooManySteps
            if not (isinstance(step, dict) and "include" in step):
                yield step, place
                continue
            yield from self._included(step, (*place, "include"), chain)

    def _included(
        self, step: _Mapping, at: Path, chain: tuple[str, ...]
    ) -> Iterator[tuple[object, Path]]:
        name = text_of(step["include"]) or ""
        if len(step) > 1:
            others = ", ".join(shown_name(key) for key in step if key != "include")
            self._fault(f"includes steps and can have nothing else; remove {others}", *at[:-1])
        # Told and left out: following it would not end.
        if name in chain:
            circle = " → ".join(map(shown_name, (*chain[chain.index(name) :], name)))
            self._fault(f"includes itself: {circle}", *at)
            return
        steps_and_place = self._named(name, at)
        if steps_and_place is not None:
            yield from self._flat(*steps_and_place, (*chain, name))

    def _named(self, name: str, at: Path) -> tuple[Sequence[object], Path] | None:
        """Return the steps of a fragment or plan, and where they are written."""
        fragments, plans = _mapping(self.file, "fragments"), _mapping(self.file, "plans")
        shown = shown_name(name)
        if name in fragments and name in plans:
            self._fault(f'"{shown}" is the name of a fragment and of a plan; rename one', *at)
        elif name in fragments:
            self.used.add(name)
            if isinstance(fragments[name], list):
                return fragments[name], ("fragments", name)
            fault = f"must be a list of steps, not {kind_of_value(fragments[name])}"
            self._fault(fault, "fragments", name)
        elif name in plans:
            return self._steps_of(name, _mapping(plans, name), at)
        else:
            names = ", ".join(map(shown_name, (*fragments, *plans)))
            self._fault(f'there is no fragment or plan "{shown}"; there are {names}', *at)
        return None

    def _steps_of(
        self, name: str, plan: _Mapping, at: Path
    ) -> tuple[Sequence[object], Path] | None:
        if isinstance(plan.get("steps"), list):
            return plan["steps"], ("plans", name, "steps")
        phases_key = _key(plan, "phases")
        phases = plan.get(phases_key)
        if not isinstance(phases, list) or len(phases) != 1 or not isinstance(phases[0], dict):
            fault = f'only a plan of one phase can be included, and "{shown_name(name)}" is none'
            self._fault(f"{fault}; move the steps to fragments", *at)
            return None
        steps_key = _key(phases[0], "steps")
        steps = phases[0].get(steps_key)
        return (steps if isinstance(steps, list) else []), ("plans", name, phases_key, 0, steps_key)

    def _step(self, step: object, place: Path, long_at: Path) -> object:
        """Return a step in the long form; the task that stands in it is added to the tasks."""
        words = [word for word in INLINE if isinstance(step, dict) and word in step]
        if place != long_at or words:
            self.expansion.places[long_at] = place
        if not isinstance(step, dict) or not words:
            return step
        word = words[0]
        self.expansion.places[*long_at, "tasks"] = (*place, word)
        self.expansion.places[*long_at, "tasks", 0] = (*place, word)
        # A fragment that is included twice stands for the same step, and has one task.
        if place in self.made:
            return self.made[place]
        name = text_of(step.get(_key(step, "name"))) or ""
        rest = {key: value for key, value in step.items() if key not in words}
        tasks_key = _key(step, "tasks")
        if len(words) > 1 or tasks_key in step:
            both = " and ".join([*words, *([tasks_key] if tasks_key in step else [])])
            self._fault(f"a step has one task in it, or names its tasks: it has {both}", *place)
        elif not name:
            self._fault(f"a step with {word} in it needs a name, which its task has too", *place)
        else:
            self._add_task(name, word, step[word], place)
        self.made[place] = {**rest, tasks_key: [name]}
        return self.made[place]

    def _add_task(self, name: str, word: str, spec: object, place: Path) -> None:
        at = (*place, word)
        spec_at: Path = ("tasks", len(self.tasks), "spec")
        places: dict[Path, Path] = {spec_at: at}
        sole = KINDS[INLINE[word]].sole
        if isinstance(spec, list) and word in LISTED:
            places[*spec_at, "resources"] = at
            spec = {"resources": spec}
        elif sole:
            places[*spec_at, sole] = at
            spec = {sole: spec}
        task: _Mapping = {"name": name, "kind": INLINE[word], "spec": spec}
        same = [other for other in self.tasks if _name(other) == name]
        # Equal tasks are one: plans may have the same step without a fragment.
        if task in same:
            return
        if same:
            first = self.inline.get(name)
            where = path_text(_with_names(self.file, first)) if first else "tasks"
            self._fault(
                f'there is another task "{shown_name(name)}", in {where}: the task of a step has '
                "the name of the step; rename one of them",
                *at,
            )
            return
        self.inline[name] = at
        self.expansion.places |= places
        self.expansion.places["tasks", len(self.tasks)] = at
        self.expansion.places["tasks", len(self.tasks), "name"] = (*place, "name")
        self.tasks.append(task)

    def _fault(self, message: str, *path: PathElement) -> None:
        fault = Fault(message, _with_names(self.file, path))
        # A fragment may be included more than once.
        if fault not in self.expansion.faults:
            self.expansion.faults.append(fault)


def _with_positions(document: object, path: Path) -> Path:
    """Return a path with the positions of items in place of their names."""
    value, elements = document, list[PathElement]()
    for element in path:
        place: PathElement = element
        if isinstance(element, Named) and isinstance(value, list):
            named = [n for n, item in enumerate(value) if _name(item) == element.name]
            place = named[element.occurrence] if element.occurrence < len(named) else element
        elements.append(place)
        value = _below(value, place)
    return tuple(elements)


def _with_names(document: object, path: Path) -> Path:
    """Return a path with the names of items, where they have one, in place of their positions."""
    value, elements = document, list[PathElement]()
    for element in path:
        item, name = _below(value, element), None
        if isinstance(element, int) and isinstance(value, list):
            name = _name(item)
            # Names may come twice in a file that is wrong: the occurrence tells them apart.
            before = [_name(other) for other in value[:element]].count(name)
        elements.append(element if name is None else Named(name, before))
        value = item
    return tuple(elements)


def _below(value: object, element: PathElement) -> object:
    try:
        return value[element]  # type: ignore[index]
    except (IndexError, KeyError, TypeError):
        return None


def _name(item: object) -> str | None:
    if not isinstance(item, dict):
        return None
    value = item.get(_key(item, "name"))
    return None if value is None else text_of(value)


def _mapping(value: object, key: str) -> _Mapping:
    nested = value.get(key) if isinstance(value, dict) else None
    return nested if isinstance(nested, dict) else {}


def _key(mapping: _Mapping, name: str) -> str:
    """Return a field as it is spelt; of keys that differ in case only, Go takes the last."""
    if name in mapping:
        return name
    return max((key for key in mapping if str(key).casefold() == name), default=name)
