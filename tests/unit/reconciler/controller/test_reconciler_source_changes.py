"""Which states of a Secret start the plan of a parameter with `onChange: run`."""

import json
from typing import Final

import pytest

from kubeio.resource import SECRETS
from tests.support import build
from tests.support.build import Json
from tests.support.loops.virtual_loop import run_virtually
from tests.support.world.memory import MemoryWorld

SLOW: Final = build.deployment("{{ .Name }}", ready_delay="80s")
"""Longer than the time between two looks."""


def secret(value: str) -> Json:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "data": {"p": value}}


def version() -> Json:
    return build.operator_version(
        "v-1",
        templates={
            "note.yaml": build.template(build.config_map("note", n="{{ len .Params.P }}")),
            "bad.yaml": "{{ if ne .Params.P `first` }}{{ .Params.None }}{{ end }}",
            "slow.yaml": build.template(SLOW),
        },
        parameters=[build.parameter("P", secret=True, onChange="run")],
        plans={
            "deploy": build.plan({"note": ["note"]}),
            "update": build.plan({"bad": ["bad"], "note": ["note"]}),
            "wait": build.plan({"slow": ["slow"]}),
        },
    )


def instance(name: str) -> Json:
    made = build.instance(name, "v-1")
    reference = {"name": "db", "key": "p"}
    made["spec"]["parametersFrom"] = [{"name": "P", "secretKeyRef": reference}]
    return made


async def runs_after(change: Json | None) -> list[str]:
    """Return the plans that ran after a change of the Secret, or its deletion; the newest first."""
    async with MemoryWorld.running() as world, world.client_as("admin") as admin:
        await admin.create(SECRETS, secret("Zmlyc3Q="), namespace=world.namespace)
        done = await world.apply(version(), instance("i"))
        assert done.code == 0, done.output
        await world.until_complete("i")
        if change is None:
            await admin.delete(SECRETS, "db", namespace=world.namespace)
        else:
            await admin.merge_patch(SECRETS, "db", change, namespace=world.namespace)
        # Others, without the parameter, tell that some minutes have passed.
        slow = {**version(), "metadata": {"name": "v-2"}}
        slow["spec"] = {**slow["spec"], "parameters": []}
        slow["spec"]["plans"] = {"deploy": slow["spec"]["plans"]["wait"]}
        for name in ("clock-1", "clock-2"):
            done = await world.apply(slow, build.instance(name, "v-2"))
            assert done.code == 0, done.output
            await world.until_complete(name)
        await world.until_idle("i")
        found = await world.instance("i")
        assert "second" not in json.dumps(found)
        return [run["plan"] for run in found["status"]["history"]]


@pytest.mark.parametrize(
    ("change", "plans"),
    [
        ({"data": {"p": "Zmlyc3Q="}, "metadata": {"labels": {"a": "b"}}}, ["deploy"]),
        (None, ["deploy"]),
        # It fails with the value, and does not run again for the same one.
        ({"data": {"p": "c2Vjb25k"}}, ["update", "deploy"]),
    ],
)
def test_another_value_runs_the_plan_once_and_nothing_else_does(
    change: Json | None, plans: list[str]
) -> None:
    assert run_virtually(runs_after(change)) == plans
