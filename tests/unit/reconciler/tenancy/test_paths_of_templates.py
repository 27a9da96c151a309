"""Templates that name other paths of the API than those of the objects of their Instance."""

from urllib.parse import unquote

import orjson
import pytest

from tests.unit.reconciler.scenes.scene import Scene, play, version


def template(api_version: str = "v1", **metadata: object) -> str:
    """Return the template of an object."""
    body = {"apiVersion": api_version, "kind": "ConfigMap", "metadata": {"name": "o", **metadata}}
    return orjson.dumps(body).decode()


@pytest.mark.parametrize(
    ("field", "of"),
    [
        ("apiVersion", template("kudo.dev/v1beta1/namespaces/elsewhere/instances/x")),
        ("metadata.name", template(name="a%2felsewhere")),
        ("metadata.namespace", template(namespace="elsewhere/pods")),
    ],
)
@pytest.mark.parametrize("task", ["apply", "delete"])
def test_a_plan_cannot_reach_other_paths_of_the_api(task: str, field: str, of: str) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(of, deploy=[task]))
        entry = scene.entry("i", "deploy")
        assert not [one.path for one in scene.network.seen if "elsewhere" in unquote(one.path)]
        assert entry["status"] == "FATAL_ERROR"
        message = entry["phases"][0]["steps"][0]["message"]
        assert "object.yaml" in message
        assert f"{field} '" in message

    play(body)
