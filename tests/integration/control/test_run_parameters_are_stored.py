"""What a real API server keeps of the parameters of a run, from the trigger to the history."""

import json

from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES, VERSIONS
from tests.support.cluster.world import World


def operator() -> Json:
    note = build.config_map("{{ .Name }}-note", of="{{ .RunParams.name }}")
    backup = build.plan({"note": ["note"]})
    item = {"type": "string", "minLength": 1}
    backup["parameters"] = [
        {"name": "name", "required": True, "format": "dns-name", "displayName": "Name"},
        {"name": "tags", "value-type": "array", "items": item, "default": "[a]"},
    ]
    return build.operator_version(
        "stored-1",
        templates={"note.yaml": build.template(note)},
        tasks=[build.task("note", "Apply", "note.yaml"), build.dummy("done", done=True)],
        plans={"deploy": build.plan({"done": ["done"]}), "backup": backup},
    )


async def test_nothing_of_them_is_pruned(world: World) -> None:
    made = operator()
    done = await world.apply(made, build.instance("i", "stored-1"))
    assert done.code == 0, done.output
    stored = await world.get(VERSIONS, "stored-1")
    assert (
        stored["spec"]["plans"]["backup"]["parameters"]
        == made["spec"]["plans"]["backup"]["parameters"]
    )
    await world.until_complete("i")
    triggered = await world.kudo(
        "plan", "trigger", "--instance", "i", "--name", "backup", "-p", "name=monday", "--wait"
    )
    assert triggered.code == 0, triggered.output
    ended = await world.get(INSTANCES, "i")
    assert instances.entry(ended, "backup")["runParameters"] == {"name": "monday"}
    assert ended["status"]["lastRun"]["runParameters"]
    assert ended["status"]["history"][0]["runParameters"] == {"name": "monday"}
    assert (await world.get(CONFIG_MAPS, "i-note"))["data"] == {"of": "monday"}
    history = await world.kudo("plan", "history", "--instance", "i", "-o", "json")
    assert json.loads(history.stdout)["backup"]["history"][0]["runParameters"]["name"] == "monday"
