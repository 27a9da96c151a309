"""What a hostile tenant sends: OperatorVersions and Instances, and how each has to end.

Each input is of a kind that once held an event loop for seconds or minutes. No two of one kind are
alike, so that what was learned of one does not help with another. `ends` and `says` state what the
sender must be told: the limit, the template or parameter, and what to do.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from tests.support import build
from tests.support.build import Json

HEAD: Final = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
_KIB: Final = 1024


class End(StrEnum):
    """How an input ends."""

    UNSTORED = "version refused"
    """The API server does not store the OperatorVersion."""
    DENIED = "denied"
    """The webhook denies the Instance."""
    FAILED = "FATAL_ERROR"
    """The plan ends."""
    DONE = "COMPLETE"
    """All is right, and heavy."""


@dataclass(frozen=True, slots=True)
class Input:
    """One input.

    Attributes:
        kind: What it has in common with others.
        name: What it is.
        version: The OperatorVersion.
        instance: The Instance that is sent for the nth time.
        end: How it ends.
        says: What the denial or the messages of the plan have in them.
        before: OperatorVersion and Instance that exist, deployed, before these are written over
            them.
    """

    kind: str
    name: str
    version: Json
    instance: Callable[[int], Json]
    end: End
    says: tuple[str, ...] = ()
    before: tuple[Json, Json] | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.name}"

    def variant(self, number: int) -> "Input":
        """Return an input of the same cost of which nothing is known from this one."""
        return replace(self, version=_varied(self.version, f" # {number}"))


def _varied(made: Json, mark: str) -> Json:
    """Return an OperatorVersion with comments in its templates, and in defaults that are YAML."""
    spec = made["spec"]
    parameters = [
        {**one, "default": one["default"] + mark}
        if one.get("value-type") in _YAML and "default" in one
        else one
        for one in spec["parameters"]
    ]
    templates = {name: text + "\n" + mark for name, text in spec["templates"].items()}
    return {**made, "spec": {**spec, "parameters": parameters, "templates": templates}}


_YAML: Final = ("array", "map")
VERSION: Final = "hostile-1"
INSTANCE: Final = "hostile"
_PLAIN: Final = HEAD + "data: {a: b}"


def aliases(levels: int, wide: int = 9) -> str:
    """Return an array of a few hundred bytes that stands for wide ** (levels + 1) values."""
    rows = ["&l0 [" + ",".join("0" * wide) + "]"]
    rows += [f"&l{n} [" + ", ".join([f"*l{n - 1}"] * wide) + "]" for n in range(1, levels + 1)]
    return "[" + ", ".join(rows) + "]"


def version(text: str = _PLAIN, **changed: Any) -> Json:
    """Return an OperatorVersion that applies one template."""
    fields: dict[str, Any] = {
        "templates": {"t.yaml": text},
        "plans": {"deploy": build.plan({"step": ["task"]})},
        "tasks": [_task("task", "t.yaml")],
    }
    return build.operator_version(VERSION, **{**fields, **changed})


def parallel(text: str, count: int = 8) -> Json:
    """Return an OperatorVersion whose plan renders a template of its own in each parallel step."""
    names = [f"t{number}.yaml" for number in range(count)]
    steps = {f"step-{number}": [f"task-{number}"] for number in range(count)}
    deploy = build.plan(steps)
    deploy["phases"][0]["strategy"] = "parallel"
    return version(
        templates={name: f"{text}\n# {name}" for name in names},
        tasks=[_task(f"task-{number}", name) for number, name in enumerate(names)],
        plans={"deploy": deploy},
    )


def _task(name: str, *resources: str) -> Json:
    return {"name": name, "kind": "Apply", "spec": {"resources": list(resources)}}


def _instance(parameters: Mapping[str, Any] | None = None) -> Callable[[int], Json]:
    made = build.instance(INSTANCE, VERSION)
    made["spec"]["parameters"] = dict(parameters or {})
    return lambda _: made


def _arrays(*texts: str) -> list[Json]:
    return [
        {"name": f"A{n}", "value-type": "array", "immutable": True, "default": text}
        for n, text in enumerate(texts)
    ]


def _template(kind: str, name: str, body: str, *says: str, made: Json | None = None) -> Input:
    return Input(kind, name, made or version(HEAD + body), _instance(), End.FAILED, says)


# Values of parameters

_SMALLER: Final = "give it a smaller value"


def _defaults() -> Iterator[Input]:
    kind = "defaults full of aliases"

    def denied(name: str, defaults: list[Json], *says: str) -> Input:
        made = version(parameters=defaults)
        return Input(kind, name, made, _instance(), End.DENIED, (*says, _SMALLER))

    yield denied("151 arrays", _arrays(*[aliases(4) + f" # {n}" for n in range(151)]), "400000")
    yield denied("151 definitions of one", _arrays(aliases(6)) * 151, "A0", "400000")
    deep = build.parameter("M", "{a: " * 4000, immutable=True, **{"value-type": "map"})
    yield denied("one deep map", [deep], "nested deeper than 100 levels")


def _values() -> Iterator[Input]:
    kind = "large values"
    array = build.parameter("A", required=False, **{"value-type": "array"})
    arrays = [build.parameter(f"A{n}", required=False, **{"value-type": "array"}) for n in range(6)]
    full = "[" + "0," * (127 * _KIB) + "]"

    def values(number: int) -> Json:
        return _instance({f"A{n}": f"{full} # {number}.{n}" for n in range(6)})(number)

    def aliased(number: int) -> Json:
        return _instance({"A": f"{aliases(6)} # {number}"})(number)

    yield Input(kind, "six arrays of 254 KiB, others each time", version(parameters=arrays),
                values, End.DENIED, ("400000", _SMALLER))  # fmt: skip
    yield Input(kind, "aliases, others each time", version(parameters=[array]),
                aliased, End.DENIED, ("A", "400000", _SMALLER))  # fmt: skip
    yield Input(kind, "an array of 254 KiB that is right", version(parameters=[array]),
                _instance({"A": full}), End.DONE)  # fmt: skip
    most = _instance({"A": "[" + "0," * 467_000 + "]"})
    yield Input(kind, "an array of 935 KB", version(parameters=[array]), most,
                End.DENIED, ("A", "400000", _SMALLER))  # fmt: skip


def _toggles() -> Iterator[Input]:
    """Yield Toggle tasks beside parameters that become hostile while nobody is asked."""
    kind = "Toggle"
    toggle = {"name": "task", "kind": "Toggle",
              "spec": {"parameter": "ON", "resources": ["t.yaml"]}}  # fmt: skip

    def toggled(*parameters: Json) -> Json:
        on = build.parameter("ON", "true")
        return version(tasks=[toggle], parameters=[on, build.parameter("GO", "1"), *parameters])

    def case(name: str, hostile: Json, end: End, *says: str) -> Input:
        benign = {**hostile, "default": "[]" if hostile.get("value-type") == "array" else "{}"}
        changed = _instance({"GO": "2"})
        before = (toggled(benign), _instance({"GO": "1"})(0))
        return Input(kind, name, toggled(hostile), changed, end, says, before)

    hard = aliases(3, 10) + " " * 54_000
    yield case("an array of 55 KB, right", build.parameter("A", hard, **{"value-type": "array"}),
               End.DONE)  # fmt: skip
    yield case("an array that is aliases",
               build.parameter("A", aliases(6) + " " * 54_000, **{"value-type": "array"}),
               End.FAILED, "A", "400000", _SMALLER)  # fmt: skip
    yield case("a map that is deep", build.parameter("A", "{a: " * 13_000, **{"value-type": "map"}),
               End.FAILED, "A", "nested deeper than 100 levels", _SMALLER)  # fmt: skip


# Templates


def _regexes() -> Iterator[Input]:
    kind = "regular expressions that grow"
    yield _template(kind, "a{0,999}, 110 times",
                    "data: {a: {{ regexFind (repeat 110 `a{0,999}`) `b` }}}",
                    "t.yaml", "pattern too large")  # fmt: skip
    yield _template(kind, "repetitions in repetitions",
                    "data: {a: {{ regexFind `((a{0,30}){0,30}){0,30}` `b` }}}",
                    "t.yaml", "invalid repeat count")  # fmt: skip
    yield _template(kind, "another one each pass",
                    "data: {a: {{ range until 9000 }}"
                    "{{ regexMatch (print `(a|b{0,400})` .) `b` }}{{ end }}}",
                    "t.yaml", "limit exceeded", "split the template")  # fmt: skip


def _searches() -> Iterator[Input]:
    kind = "searches of 80 KB"
    yield _template(kind, "any of four, then 900",
                    "data: {a: {{ regexFind `(a|b|c|d)*[^x]{900}` (repeat 80000 `b`) }}}",
                    "t.yaml", "limit exceeded", "split the template")  # fmt: skip
    yield _template(kind, "every match replaced, over and over",
                    "data: {a: {{ $x := repeat 80000 `b` }}{{ range until 90000 }}"
                    "{{ $y := regexReplaceAll `(b?){90}` $x `c` }}{{ end }}}",
                    "t.yaml", "limit exceeded", "split the template")  # fmt: skip
    yield _template(kind, "all matches of nothing",
                    "data: {a: {{ range until 90000 }}"
                    "{{ $y := regexFindAll `` (repeat 80000 `b`) -1 }}{{ end }}}",
                    "t.yaml", "limit exceeded", "split the template")  # fmt: skip


def _loops() -> Iterator[Input]:
    kind = "loops, recursion, growth"
    yield _template(kind, "a range without end", "{{ range 100000000000 }}{{ end }}",
                    "t.yaml", "limit exceeded", "split the template")  # fmt: skip
    yield _template(kind, "ranges in ranges",
                    "{{ $n := until 1000 }}" + "{{ range $n }}" * 6 + "x" + "{{ end }}" * 6,
                    "t.yaml", "limit exceeded", "split the template")  # fmt: skip
    yield _template(kind, "a text that doubles",
                    "{{ $x := `0123456789` }}{{ range until 40 }}{{ $x = print $x $x }}{{ end }}",
                    "t.yaml", "string limit exceeded", "split the template")  # fmt: skip
    yield _template(kind, "a template that calls itself twice",
                    "{{ define `r` }}{{ template `r` . }}{{ template `r` . }}{{ end }}"
                    "{{ template `r` . }}",
                    "t.yaml", "depth limit exceeded", "split the template")  # fmt: skip
    calls = "".join(
        f"{{{{ define `r{n}` }}}}{f'{{{{ template `r{n + 1}` }}}}' * 9}{{{{ end }}}}"
        for n in range(20)
    )
    yield _template(kind, "templates that call nine each, 20 levels",
                    calls + "{{ define `r20` }}x{{ end }}{{ template `r0` }}",
                    "t.yaml", "limit exceeded", "split the template")  # fmt: skip


def _outputs() -> Iterator[Input]:
    kind = "output that is hostile YAML"
    yield _template(kind, "aliases",
                    "data:\n  a: &a [{{ repeat 9000 `x,` }}]\n  b: [{{ repeat 9000 `*a,` }}]",
                    "t.yaml", "400000 values", "split the template")  # fmt: skip
    yield _template(kind, "many documents", "", "t.yaml", "400000 values", "split the template",
                    made=version("{{ repeat 60000 `null\n---\n` }}"))  # fmt: skip
    yield _template(kind, "deep brackets", "data: {{ repeat 100000 `[` }}",
                    "t.yaml", "100 levels", "split the template")  # fmt: skip
    yield _template(kind, "many keys, all long",
                    "data: {{ `{` }}{{ range until 900 }}k{{ . }}{{ repeat 9000 `k` }}: v, "
                    "{{ end }}}",
                    "t.yaml", "limit exceeded", "split the template")  # fmt: skip


def _parallel() -> Iterator[Input]:
    kind = "8 parallel steps"
    search = "{{ range until 16 }}{{ $x := regexFind `(a|b|c|d)*[^x]{9}` (repeat 80000 `b`) }}"
    yield _template(kind, "searches", "", "limit exceeded", "split the template",
                    made=parallel(HEAD + search + "{{ end }}{{ range 100000000000 }}{{ end }}"),
                    )  # fmt: skip
    yield _template(kind, "certificates", "", "expensive limit exceeded", "split the template",
                    made=parallel(HEAD + "{{ range until 11 }}{{ $x := genCA `a` 9 }}{{ end }}"),
                    )  # fmt: skip
    loop = "{{ range until 90000 }}{{ $x := print . }}{{ end }}data: {a: b}"
    yield Input(kind, "loops that are right", parallel(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\n{loop}"),
        _instance(), End.DONE)  # fmt: skip


def _digests() -> Iterator[Input]:
    kind = "large manifests"
    yield _template(kind, "a template of 800 KB", "", "t.yaml", "source limit exceeded",
                    made=version(HEAD + "data:\n  a: |\n" + "    - [a, b]\n" * 60_000),
                    )  # fmt: skip
    # Deployments that read a ConfigMap are annotated with a digest of its content.
    content = "".join(f"  k{n}: |\n    " + json.dumps([[0]] * 60) + "\n" for n in range(1500))
    reader = build.deployment("reader")
    pod = reader["spec"]["template"]["spec"]
    pod["containers"][0]["envFrom"] = [{"configMapRef": {"name": "a"}}]
    yield Input(kind, "a digest of 500 KB of YAML, right",
                version(f"{HEAD}data:\n{content}---\n{json.dumps(reader)}"), _instance(),
                End.DONE)  # fmt: skip
    yield _template(kind, "150,001 values in one document", "data: [" + "0," * 150_001 + "]",
                    "t.yaml", "150000")  # fmt: skip


# Shapes


def _shapes() -> Iterator[Input]:
    kind = "versions with many parts"
    empty: list[Json] = [{}] * 400_000
    yield Input(kind, "1.2 MB of {} parameters", version(parameters=empty), _instance(),
                End.UNSTORED, ("spec.parameters", "2000"))  # fmt: skip
    step = build.plan({"step": ["task"]})
    yield Input(kind, "4,000 plans", version(plans={"deploy": step} | {
        f"p{n}": step for n in range(4000)}), _instance(),
        End.UNSTORED, ("spec.plans", "200"))  # fmt: skip
    many = [build.parameter(f"P{n}", "x" * 400) for n in range(2000)]
    yield Input(kind, "1 MB of 2,000 parameters, right", version(parameters=many), _instance(),
                End.DONE)  # fmt: skip
    steps = [{"name": f"s{n}", "tasks": ["task"]} for n in range(500)]
    phases = [{"name": f"f{n}", "strategy": "serial", "steps": steps} for n in range(11)]
    yield Input(kind, "5,500 steps",
                version(plans={"deploy": {"strategy": "serial", "phases": phases}}), _instance(),
                End.DENIED, ("steps", "500", "create a version with fewer"))  # fmt: skip


def _updates() -> Iterator[Input]:
    kind = "updates full of errors"
    before = (version(), _instance()(0))

    def case(name: str, parameters: Mapping[str, Any], *says: str) -> Input:
        return Input(kind, name, version(), _instance(parameters), End.DENIED, says, before)

    yield case("60,000 numbers", {f"P{n}": n for n in range(60_000)}, "more problems")
    yield case("40,000 unknown parameters", {f"P{n}": "x" for n in range(40_000)}, "more")
    yield case("20 names of 20 KB", {f"{n}" + "k" * 20_000: "x" for n in range(20)}, "k")


def inputs() -> list[Input]:
    """Return all inputs, by kind."""
    values = (_defaults, _values, _toggles, _updates)
    templates = (_regexes, _searches, _loops, _outputs, _parallel, _digests)
    makers = (*values, *templates, _shapes)
    return [made for maker in makers for made in maker()]
