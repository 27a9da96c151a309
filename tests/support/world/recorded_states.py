"""States of Instances as recorded timelines of the original have them, and what becomes of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.support import build
from tests.support.build import Json

THEN = "2020-01-01T00:00:00Z"
OLD, NEW = "11111111-aaaa-4000-8000-000000000001", "22222222-bbbb-4000-8000-000000000002"
READY = ("True", "ResourcesReady")
FAILED = ("Unknown", "PlanInFatalError")

PLANS = {
    "deploy": build.shaped({"first": ["job"]}, {"second": ["config"]}),
    "p": build.plan({"only": ["config"]}),
    "fatal": build.plan({"only": ["fatal"]}),
    "stuck": build.plan({"only": ["wait"]}),
}
CLEANUPS = {
    "": {},
    "instant": {"cleanup": build.plan({"only": ["config"]})},
    "failing": {"cleanup": build.plan({"only": ["fatal"]})},
    "stuck": {"cleanup": build.plan({"only": ["wait"]})},
}


def recorded(cleanup: str = "") -> Json:
    return build.operator_version(
        "recorded-1",
        templates={
            "config.yaml": build.template(
                build.config_map("{{ .Name }}-config", a="{{ .Params.A }}")
            ),
            "job.yaml": build.template(build.job("{{ .Name }}-job")),
        },
        tasks=[
            build.task("config", "Apply", "config.yaml"),
            build.task("job", "Apply", "job.yaml"),
            build.dummy("fatal", wantErr=True, fatal=True),
            build.dummy("wait"),
        ],
        plans={**PLANS, **CLEANUPS[cleanup]},
        parameters=[build.parameter("A", "1")],
    )


def entry_of(version: Json, name: str, status: str, uid: str, *steps: str) -> Json:
    """Return the entry of a plan as the original writes it; `steps` are states in order."""
    states = list(steps)
    phases = [
        {
            "name": phase["name"],
            "status": status,
            "steps": [
                {"name": step["name"], "status": states.pop(0) if states else status}
                for step in phase["steps"]
            ],
        }
        for phase in version["spec"]["plans"][name]["phases"]
    ]
    common = {"name": name, "status": status, "lastUpdatedTimestamp": THEN, "phases": phases}
    return common if status == "NEVER_RUN" else {**common, "uid": uid}


Entry = tuple[str, ...]
"""uid, status and, where they differ, the states of the steps."""


@dataclass(frozen=True)
class Start:
    """A stored state, and where it ends.

    Attributes:
        scheduled: planName, uid and status of `spec.planExecution`; shorter as recorded.
        runs: Entries by plan; every other plan is NEVER_RUN. None: no status was written yet.
        ready: Reason of the Ready condition that the original wrote, True with ResourcesReady.
        cleanup: Kind of the cleanup plan.
        deleting: Whether the object is being deleted.
        ends: Plan -> uid and status in which it ends; "" stands for any uid.
        ended: Condition Ready at the end; None if the Instance is gone.
        job: Whether the Job of the first step exists at the end.
        words: What the plan's messages say at the end.
        warnings: Reasons of the events beside starts and ends.
    """

    scheduled: tuple[str, ...] = ()
    runs: Mapping[str, Entry] | None = field(default_factory=dict)
    ready: str = "ResourcesReady"
    cleanup: str = ""
    deleting: bool = False
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)
    ended: tuple[str, str] | None = READY
    job: bool = False
    words: str = ""
    warnings: tuple[str, ...] = ()


DEPLOYED = (OLD, "COMPLETE")
LOST = "ended without a recorded result"
STATES: dict[str, Start] = {
    "create: scheduled": Start(("deploy", NEW), None, ends={"deploy": (NEW, "COMPLETE")}, job=True),
    "create: cleared, the status not yet written": Start(
        (), None, ends={"deploy": ("", "COMPLETE")}, job=True
    ),
    "create: done": Start(
        (), {"deploy": DEPLOYED}, ends={"deploy": DEPLOYED}
    ),  # nothing runs again
    "create with status COMPLETE: not yet run": Start(
        ("deploy", NEW, "COMPLETE"), None, ends={"deploy": (NEW, "COMPLETE")}, job=True
    ),
    "create with status COMPLETE: run and never cleared": Start(
        ("deploy", OLD, "COMPLETE"), {"deploy": DEPLOYED}, ends={"deploy": DEPLOYED}
    ),
    "parameter update: scheduled": Start(
        ("p", NEW, "NEVER_RUN"),
        {"deploy": DEPLOYED, "p": (OLD, "COMPLETE")},
        ends={"p": (NEW, "COMPLETE"), "deploy": DEPLOYED},
    ),
    "parameter update: cleared, the status not yet written": Start(
        (),
        {"deploy": DEPLOYED, "p": (OLD, "COMPLETE")},
        ends={"p": (OLD, "COMPLETE"), "deploy": DEPLOYED},
    ),
    "fatal plan: scheduled": Start(
        ("fatal", NEW, "NEVER_RUN"),
        {"deploy": DEPLOYED},
        ends={"fatal": (NEW, "FATAL_ERROR")},
        ended=FAILED,
        words="dummy error",
        warnings=("DummyTaskError",),
    ),
    "fatal plan: IN_PROGRESS": Start(
        ("fatal", NEW, "IN_PROGRESS"),
        {"deploy": DEPLOYED, "fatal": (NEW, "IN_PROGRESS")},
        ends={"fatal": (NEW, "FATAL_ERROR")},
        ended=FAILED,
        words="dummy error",
        warnings=("DummyTaskError",),
    ),
    "fatal plan: failed, Ready put back": Start(
        (),
        {"deploy": DEPLOYED, "fatal": (NEW, "FATAL_ERROR")},
        ends={"fatal": (NEW, "FATAL_ERROR"), "deploy": DEPLOYED},
    ),
    "fatal plan: failed, Ready not yet put back": Start(
        (),
        {"deploy": DEPLOYED, "fatal": (NEW, "FATAL_ERROR")},
        ready="PlanInFatalError",
        ends={"fatal": (NEW, "FATAL_ERROR"), "deploy": DEPLOYED},
    ),
    "long plan: scheduled": Start(
        ("deploy", NEW, "NEVER_RUN"),
        {"deploy": DEPLOYED},
        ends={"deploy": (NEW, "COMPLETE")},
        job=True,
    ),
    "long plan: IN_PROGRESS in the spec alone": Start(
        ("deploy", NEW, "IN_PROGRESS"),
        {"deploy": DEPLOYED},
        ends={"deploy": (NEW, "COMPLETE")},
        job=True,
    ),
    "long plan: IN_PROGRESS, the first step done": Start(
        ("deploy", NEW, "IN_PROGRESS"),
        {"deploy": (NEW, "IN_PROGRESS", "COMPLETE", "PENDING")},
        ready="PlanInProgress",
        ends={"deploy": (NEW, "COMPLETE")},
        job=False,
    ),
    "long plan: IN_PROGRESS, the first step in progress": Start(
        ("deploy", NEW, "IN_PROGRESS"),
        {"deploy": (NEW, "IN_PROGRESS", "IN_PROGRESS", "PENDING")},
        ready="PlanInProgress",
        ends={"deploy": (NEW, "COMPLETE")},
        job=True,
    ),
    "long plan: the end in the spec alone": Start(
        ("deploy", NEW, "COMPLETE"),
        {"deploy": (NEW, "IN_PROGRESS", "IN_PROGRESS", "PENDING")},
        ready="PlanInProgress",
        ends={"deploy": (NEW, "COMPLETE")},
        job=True,
    ),
    "a user set COMPLETE on a running plan": Start(
        (),
        {"deploy": DEPLOYED, "stuck": (NEW, "IN_PROGRESS")},
        ends={"stuck": (NEW, "FATAL_ERROR"), "deploy": DEPLOYED},
        words=LOST,
        warnings=("PlanResultUnknown",),
    ),
    "a user set COMPLETE on the first deploy": Start(
        (),
        {"deploy": (NEW, "IN_PROGRESS")},
        ready="PlanInProgress",
        ends={"deploy": (NEW, "FATAL_ERROR")},
        words=LOST,
        warnings=("PlanResultUnknown",),
    ),
    "a pending run that nothing names": Start(
        (),
        {"deploy": DEPLOYED, "p": (NEW, "PENDING")},
        ends={"p": (NEW, "FATAL_ERROR")},
        words=LOST,
        warnings=("PlanResultUnknown",),
    ),
    "delete, instant cleanup: deletionTimestamp set": Start(
        (), {"deploy": DEPLOYED}, cleanup="instant", deleting=True, ended=None
    ),
    "delete before anything ran": Start(
        ("deploy", NEW), None, cleanup="instant", deleting=True, ended=None
    ),
    "delete during a stuck plan": Start(
        ("stuck", NEW, "IN_PROGRESS"),
        {"deploy": DEPLOYED, "stuck": (NEW, "IN_PROGRESS")},
        cleanup="instant",
        deleting=True,
        ended=None,
    ),
    "cleanup in progress": Start(
        ("cleanup", NEW, "IN_PROGRESS"),
        {"deploy": DEPLOYED, "cleanup": (NEW, "IN_PROGRESS")},
        cleanup="instant",
        deleting=True,
        ended=None,
    ),
    "cleanup done, the finalizer still there": Start(
        ("cleanup", NEW, "COMPLETE"),
        {"deploy": DEPLOYED, "cleanup": (NEW, "COMPLETE")},
        cleanup="instant",
        deleting=True,
        ended=None,
    ),
    "cleanup that fails: scheduled": Start(
        ("cleanup", NEW, "NEVER_RUN"),
        {"deploy": DEPLOYED},
        cleanup="failing",
        deleting=True,
        ended=None,
        warnings=("DummyTaskError",),
    ),
    "cleanup failed, the finalizer kept, the status not yet written": Start(
        ("cleanup", NEW, "FATAL_ERROR"),
        {"deploy": DEPLOYED, "cleanup": (NEW, "IN_PROGRESS")},
        cleanup="failing",
        deleting=True,
        ended=None,
        warnings=("PlanCancelled",),
    ),
    "cleanup failed, the finalizer kept": Start(
        ("cleanup", NEW, "FATAL_ERROR"),
        {"deploy": DEPLOYED, "cleanup": (NEW, "FATAL_ERROR")},
        ready="PlanInFatalError",
        cleanup="failing",
        deleting=True,
        ended=None,
    ),
}


def execution(*fields: str) -> Json:
    return dict(zip(("planName", "uid", "status"), fields, strict=False))


def status_written(version: Json, start: Start) -> Json:
    runs = start.runs or {}
    never = {name: ("", "NEVER_RUN") for name in version["spec"]["plans"] if name not in runs}
    return {
        "planStatus": {
            name: entry_of(version, name, run[1], run[0], *run[2:])
            for name, run in {**never, **runs}.items()
        },
        "conditions": [
            {
                "type": "Ready",
                "status": "True" if start.ready == "ResourcesReady" else "Unknown",
                "reason": start.ready,
                "message": "",
                "lastTransitionTime": THEN,
            }
        ],
    }
