"""Random OperatorVersions, and what users may want of an Instance of them; no tests of its own."""

import itertools
import json
from dataclasses import dataclass, field
from random import Random
from typing import Final

from kubeio.types import JsonObject
from tests.support.apiserver.controllers.workloads import MESSAGE
from tests.unit.kudo.plans.runs.control_promises import HIDDEN

PARAMETERS: Final[dict[str, tuple[str | None, ...]]] = {
    "SIZE": ("1", "2", "3", None),
    "PORT": ("80", "81", None),
    "NOTE": ("", f"note {HIDDEN}", None),
    "COUNT": ("1", "2", "many", None),
    "LATE": (f"1 {HIDDEN}", f"2 {HIDDEN}", None),
    "FIXED": ("a", "b", None),
    "ON": ("true", "false"),
}
"""Values that users set, by parameter; None removes it."""
PLANS: Final = ("deploy", "update", "upgrade", "custom", "cleanup")
TIMEOUTS: Final = ("2s", "10s", "1m", "2m")
_SETS: Final = (
    (),
    ("update",),
    ("custom",),
    ("cleanup",),
    ("custom", "cleanup"),
    ("upgrade", "cleanup"),
    ("update", "upgrade", "custom", "cleanup"),
)
"""The plans beside deploy."""
_OF_INSTANCE: Final = "{{ .Name }}-"


def _template(kind: str, name: str) -> str:
    content: JsonObject
    match kind:
        case "ConfigMap":
            content = {"data": {"size": "{{ .Params.SIZE }}", "plan": "{{ .PlanName }}"}}
            api_version = "v1"
        case "Deployment":
            content = {"spec": {"replicas": 1, **_pods("{{ .Params.PORT }}")}}
            api_version = "apps/v1"
        case _:
            content = {"spec": {"template": _pods("80")["template"]}}
            api_version = "batch/v1"
    metadata = {"name": _OF_INSTANCE + name}
    return json.dumps({"apiVersion": api_version, "kind": kind, "metadata": metadata, **content})


def _pods(argument: str) -> JsonObject:
    container = {"name": "c", "image": "c", "args": [argument]}
    return {
        "selector": {"matchLabels": {"app": "a"}},
        "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [container], "restartPolicy": "Never"},
        },
    }


_POD: Final = json.dumps(
    {
        "metadata": {"annotations": {MESSAGE: '{"size": "{{ .Params.SIZE }}"}'}},
        "spec": {"containers": [{"name": "main", "image": "c"}]},
    }
)
"""The pod of a Job task, whose program hands a text on."""


@dataclass
class _Draft:
    """An OperatorVersion while it is drawn."""

    rng: Random
    tasks: list[JsonObject] = field(default_factory=list)
    templates: dict[str, str] = field(default_factory=dict)
    jobs: list[str] = field(default_factory=list)
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def plan(self, *, broken: bool) -> JsonObject:
        odd = ["odd"] if broken else []
        strategies = ["serial", "parallel", "", *odd]
        return {
            "strategy": self.rng.choice(strategies),
            "phases": [
                {
                    "name": f"p{number}",
                    "strategy": self.rng.choice(strategies),
                    "steps": [
                        {"name": f"s{at}", "tasks": self._tasks(), **self._limit("timeout")}
                        for at in range(self.rng.choice((0, 1, 2, 3, 4)))
                    ],
                    **self._limit("timeout"),
                }
                for number in range(self.rng.choice((1, 1, 2)))
            ],
            **self._limit("timeout"),
        }

    def _limit(self, field: str) -> JsonObject:
        """Draw a time limit; mostly there is none."""
        limit = self.rng.choice(TIMEOUTS)
        return {field: limit} if self.rng.random() < 0.1 else {}

    def _tasks(self) -> list[str]:
        """Return the names of the tasks of a step."""
        choice = self.rng.randrange(48)
        if choice < 8:
            return [self._on("Apply", "ConfigMap", self._shared("c"))]
        if choice < 12:
            return [self._on("Apply", "Deployment", self._shared("d"))]
        if choice < 16:
            names = self._shared("c"), self._shared("d")
            return [
                self._on("Apply", "ConfigMap", names[0]),
                self._on("Apply", "Deployment", names[1]),
            ]
        if choice < 25:
            # No other step has this Job, so that it is to be made once in each run.
            job = f"j{next(self.numbers)}"
            return [self._on("Delete", "Job", job), self._on("Apply", "Job", job)]
        if choice < 27:
            return [self._on("Apply", "Job", f"j{next(self.numbers)}")]
        if choice < 29:
            return [self._job()]
        if choice < 32:
            return [self._on("Delete", "ConfigMap", self._shared("c"))]
        if choice < 36:
            toggle = self._on("Toggle", "ConfigMap", self._shared("c"))
            return [toggle, self._on("Apply", "ConfigMap", self._shared("e"))]
        return [self._dummy()]

    def _shared(self, letter: str) -> str:
        return f"{letter}{self.rng.randint(0, 1)}"

    def _on(self, task: str, kind: str, name: str) -> str:
        template = f"{name}.yaml"
        self.templates[template] = _template(kind, name)
        spec: JsonObject = {"resources": [template]}
        return self._task(task, spec | ({"parameter": "ON"} if task == "Toggle" else {}))

    def _job(self) -> str:
        """Return the name of a Job task, which another step may have as well."""
        if self.jobs and self.rng.random() < 0.3:
            return self.rng.choice(self.jobs)
        env = [{"name": "SIZE", "value": "{{ .Params.SIZE }}"}]
        self.templates["job.yaml"] = _POD
        job: JsonObject = {"podTemplate": "job.yaml", "command": ["c"], "env": env}
        job["outputs"] = ["size"]
        keep = self.rng.choice((None, 1, 2))
        self.jobs.append(self._task("Job", {"job": job | ({"keep": keep} if keep else {})}))
        return self.jobs[-1]

    def _dummy(self) -> str:
        fate = self.rng.randrange(7)
        if fate in {0, 2, 3}:
            return self._task("Dummy", {"wantErr": True, "fatal": True})
        if fate == 1:
            return self._task("Dummy", {"wantErr": True})
        return self._task("Dummy", {"done": True})

    def _task(self, kind: str, spec: JsonObject) -> str:
        name = f"t{next(self.numbers)}"
        limits = self._limit("timeout") | self._limit("progressDeadline")
        self.tasks.append({"name": name, "kind": kind, "spec": spec, **limits})
        return name


def operator_version(rng: Random, name: str, *, broken: bool = False) -> JsonObject:
    """Draw an OperatorVersion; a broken one may lack deploy or have a strategy that is none."""
    names = {"deploy", *rng.choice(_SETS)}
    if broken and rng.random() < 0.3:
        names.discard("deploy")
    draft = _Draft(rng)
    plans = {plan: draft.plan(broken=broken) for plan in sorted(names)}
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "OperatorVersion",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {
            "operator": {"name": "op"},
            "version": "1",
            "plans": plans,
            "tasks": draft.tasks,
            "templates": draft.templates,
            "parameters": _parameters(rng, sorted(names - {"cleanup"})),
        },
    }


def _parameters(rng: Random, plans: list[str]) -> list[JsonObject]:
    triggers = [None, *plans]
    parameters: list[JsonObject] = [
        {"name": "SIZE", "trigger": rng.choice(triggers), "default": "1"},
        {"name": "PORT", "trigger": rng.choice(triggers), "default": "80"},
        {"name": "COUNT", "value-type": "integer", "default": "1"},
        {"name": "FIXED", "immutable": True, "default": "a"},
        {"name": "ON", "value-type": "boolean", "default": "true"},
    ]
    if rng.random() < 0.5:
        parameters.append({"name": "NOTE", "required": rng.random() < 0.5})
    if rng.random() < 0.5:
        immutable = rng.random() < 0.5
        parameters.append({"name": "LATE", "immutable": immutable, "default": "1"})
    return [{k: v for k, v in one.items() if v is not None} for one in parameters]


def values(rng: Random) -> dict[str, str | None]:
    """Draw what a user sets at once."""
    names = rng.sample(sorted(PARAMETERS), rng.randint(1, 3))
    return {name: rng.choice(PARAMETERS[name]) for name in names}
