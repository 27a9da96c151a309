"""Outputs of Job tasks, from the termination message of a pod to an object of a later step."""

import json

from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.events import event_text
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES


def dumping(message: str) -> Json:
    """Return a version whose Job writes this message, and whose next step uses it."""
    annotations = {"kwok.kudo.dev/termination-message": message}
    pod = {
        "metadata": {"annotations": annotations},
        "spec": {"containers": [{"name": "main", "image": "busybox"}]},
    }
    job = {"podTemplate": "pod.yaml", "command": ["dump"], "outputs": ["file", "bytes"]}
    note = build.config_map("{{ .Name }}-note", file="{{ .Outputs.dump.file }}")
    plan = build.plan({"dump": ["dump"], "note": ["note"], "empty": ["note"]})
    plan["phases"][0]["steps"][2]["when"] = "int(outputs.dump.bytes) == 0"
    return build.operator_version(
        "dumping-1",
        templates={"pod.yaml": json.dumps(pod), "note.yaml": build.template(note)},
        tasks=[build.task("dump", "Job", job=job), build.task("note", "Apply", "note.yaml")],
        plans={"deploy": plan},
    )


async def test_what_a_program_has_written_is_in_the_status_and_in_objects_of_later_steps(
    world: World,
) -> None:
    outputs = {"file": "db.sql", "bytes": "31"}
    done = await world.apply(dumping(json.dumps(outputs)), build.instance("i", "dumping-1"))
    assert done.code == 0, done.output
    await world.until_complete("i")
    steps = instances.entry(await world.get(INSTANCES, "i"), "deploy")["phases"][0]["steps"]
    assert [step.get("outputs") for step in steps] == [{"dump": outputs}, None, None]
    assert [step.get("skipped", False) for step in steps] == [False, False, True]
    assert (await world.get(CONFIG_MAPS, "i-note"))["data"] == {"file": "db.sql"}


async def test_what_is_no_output_ends_the_run(world: World) -> None:
    done = await world.apply(dumping("file=db.sql"), build.instance("i", "dumping-1"))
    assert done.code == 0, done.output
    await world.until("i", lambda i: instances.status_of(i, "deploy") == "FATAL_ERROR", "the end")
    assert "is not JSON" in await event_text(world, "OutputsInvalid")
    assert await world.find(CONFIG_MAPS, "i-note") is None


async def test_names_longer_than_labels_make_a_job_whose_outputs_are_found(world: World) -> None:
    version = dumping(json.dumps({"file": "db.sql", "bytes": "31"}))
    task, instance = f"{'Dump_' * 20}all", "i" * 63
    version["spec"]["tasks"][0]["name"] = task
    note = build.config_map("note", file="FILE")
    version["spec"]["templates"]["note.yaml"] = build.template(note).replace(
        '"FILE"', f'{{{{ index .Outputs "{task}" "file" | quote }}}}'
    )
    version["spec"]["plans"] = {"deploy": build.plan({"s" * 100: [task], "note": ["note"]})}
    done = await world.apply(version, build.instance(instance, "dumping-1"))
    assert done.code == 0, done.output
    await world.until_complete(instance)
    assert (await world.get(CONFIG_MAPS, "note"))["data"] == {"file": "db.sql"}
