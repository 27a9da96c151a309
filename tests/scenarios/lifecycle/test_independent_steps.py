"""A step that fails: steps of other phases do not wait for its next try."""

from tests.support import build, instances
from tests.support.cluster.interface import World

SERIAL = [f"web-{number}" for number in range(10)]
"""More steps than a failing one is tried in a minute and a half: its tries are up to a minute
apart."""


async def test_a_failing_step_keeps_no_step_of_another_phase_waiting(world: World) -> None:
    version = build.operator_version(
        "failing-1",
        templates={f"{name}.yaml": build.template(build.deployment(name)) for name in SERIAL},
        tasks=[
            build.dummy("bad", wantErr=True),
            *(
                {"name": name, "kind": "Apply", "spec": {"resources": [f"{name}.yaml"]}}
                for name in SERIAL
            ),
        ],
        plans={
            "deploy": build.shaped(
                {"bad": ["bad"]}, {name: [name] for name in SERIAL}, plan="parallel"
            )
        },
    )
    await world.apply(version, build.instance("i", "failing-1"))

    last = f"phase2.{SERIAL[-1]}"
    found = await world.until(
        "i", lambda i: instances.steps(i, "deploy").get(last) == "COMPLETE", last
    )

    assert instances.steps(found, "deploy") == {
        "phase1.bad": "ERROR",
        **{f"phase2.{name}": "COMPLETE" for name in SERIAL},
    }
    assert "A transient error when executing task deploy.phase1.bad.bad" in instances.messages(
        found, "deploy"
    )
    assert instances.tasks_of(found, "deploy")["bad.bad"]["status"] == "ERROR"
    assert instances.scheduled(found)["uid"] == instances.entry(found, "deploy")["uid"]
