"""What users do to an Instance, and the operators that it may run; no tests of its own."""

from hypothesis import strategies as st

from kudo.api import Instance, JsonObject, OperatorVersion

Edit = JsonObject
"""Parameters to set (None removes), the version to use, and the run to ask for."""


def edited(stored: Instance, edit: Edit) -> JsonObject:
    """Return the object that a user sends."""
    wire = stored.to_wire()
    spec: JsonObject = dict(wire.get("spec", {}))
    parameters = {**spec.get("parameters", {}), **edit["parameters"]}
    spec["parameters"] = {n: v for n, v in parameters.items() if v is not None}
    if edit["of"] is not None:
        spec["operatorVersion"] = {"name": edit["of"]}
    run = edit["run"]
    if run == "clear":
        spec["planExecution"] = {}
    elif run == "cancel":
        spec["planExecution"] = {**spec.get("planExecution", {}), "status": "FATAL_ERROR"}
    elif run is not None:
        spec["planExecution"] = {n: v for n, v in run.items() if v is not None}
    return {**wire, "spec": spec, "status": wire.get("status", {})}


_SETTINGS: tuple[tuple[str, str | None], ...] = (
    *(("SIZE", "1"), ("SIZE", "2"), ("SIZE", "3"), ("SIZE", None)),
    *(("PORT", "80"), ("PORT", "81"), ("PORT", None)),
    *(("NOTE", ""), ("NOTE", "x"), ("NOTE", None)),
    *(("COUNT", "1"), ("COUNT", "2"), ("COUNT", "many"), ("COUNT", None)),
    *(("LATE", "1"), ("LATE", "2"), ("LATE", None)),
    *(("FIXED", "a"), ("FIXED", "b"), ("FIXED", None)),
)
values: st.SearchStrategy[dict[str, str | None]] = st.lists(
    st.sampled_from(_SETTINGS), min_size=1, max_size=3
).map(dict)
plan_names = st.sampled_from(["deploy", "update", "upgrade", "custom", "cleanup"])
_asked = st.fixed_dictionaries(
    {
        "planName": plan_names,
        "uid": st.sampled_from([None, "x", "y"]),
        "status": st.sampled_from([None, "FATAL_ERROR", "COMPLETE"]),
    }
)
_runs = st.one_of(st.just("cancel"), st.just("clear"), _asked, _asked)
_of = st.sampled_from(["v1", "v2"])


_none = st.none()
_nothing: st.SearchStrategy[dict[str, str | None]] = st.just({})


def _edits(
    parameters: st.SearchStrategy[dict[str, str | None]] = _nothing,
    of: st.SearchStrategy[str | None] = _none,
    run: st.SearchStrategy[str | JsonObject | None] = _none,
) -> st.SearchStrategy[Edit]:
    return st.fixed_dictionaries({"parameters": parameters, "of": of, "run": run})


edits: st.SearchStrategy[Edit] = st.one_of(
    *(_edits(values), _edits(of=_of), _edits(run=_runs), _edits(values, of=_of)),
    *(_edits(values, run=_runs), _edits(values, _of, _runs)),
)
_strategies = st.sampled_from(["", "serial", "parallel"])
STEPS = ("a", "b", "c", "d")
_PLANS = (
    *((), ("update",), ("custom",), ("cleanup",), ("custom", "cleanup")),
    *(("update", "custom"), ("upgrade", "cleanup"), ("update", "upgrade", "custom", "cleanup")),
)
"""The plans beside deploy."""


@st.composite
def _plan(draw: st.DrawFn, strategies: st.SearchStrategy[str]) -> JsonObject:
    phases = draw(st.lists(st.lists(st.sampled_from(STEPS), max_size=2), max_size=2))
    return {
        "strategy": draw(strategies),
        "phases": [
            {
                "name": f"p{number}",
                "strategy": draw(strategies),
                "steps": [{"name": step, "tasks": [step]} for step in steps],
            }
            for number, steps in enumerate(phases)
        ],
    }


@st.composite
def versions(draw: st.DrawFn, *, broken: bool = False) -> JsonObject:
    """Draw an OperatorVersion without a name; a broken one may lack deploy or have odd plans."""
    names = {"deploy", *draw(st.sampled_from(_PLANS))}
    strategies = _strategies
    if broken:
        names -= draw(st.sets(st.sampled_from(["deploy", "custom"]), max_size=1))
        strategies = st.one_of(_strategies, st.just("odd"))
    triggers = st.sampled_from([None, *sorted(names - {"cleanup"})])
    parameters: list[JsonObject] = [
        {"name": "SIZE", "trigger": draw(triggers), "default": "1"},
        {"name": "PORT", "trigger": draw(triggers), "default": "80"},
        {"name": "COUNT", "value-type": "integer", "default": "1"},
        {"name": "FIXED", "immutable": True, "default": "a"},
    ]
    if draw(st.booleans()):
        parameters.append({"name": "NOTE", "required": draw(st.booleans())})
    if draw(st.booleans()):
        immutable = draw(st.booleans())
        parameters.append({"name": "LATE", "immutable": immutable, "default": "1"})
    plans = {name: draw(_plan(strategies)) for name in sorted(names)}
    return {
        "operator": {"name": "first"},
        "version": "1",
        "plans": plans,
        "parameters": parameters,
    }


def version(name: str, spec: JsonObject) -> OperatorVersion:
    wire = {"metadata": {"name": name, "namespace": "ns"}, "spec": spec}
    return OperatorVersion.from_wire(wire)
