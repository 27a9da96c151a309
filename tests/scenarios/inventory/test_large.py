"""An Instance whose objects take several Inventories."""

from collections import Counter

from tests.support import build
from tests.support.cluster.interface import World
from tests.support.world.records import (
    change,
    configs,
    install,
    orphaned,
    record,
    shards,
    until_told,
    version,
    versions,
)

OBJECTS, HALF, LEFT = 1200, 600, 1190
"""More than a task may have, and fewer than an Instance may have."""
MANY = """{{ range $n := untilStep (%s) (%s) 1 }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $.Name }}-{{ printf "%%04d" $n }}
{{ end }}"""


async def test_twelve_hundred_objects_are_on_record_in_three_inventories(world: World) -> None:
    parameters = [build.parameter("COUNT", str(OBJECTS))]
    tasks = {"low": [MANY % ("0", HALF)], "high": [MANY % (HALF, "int .Params.COUNT")]}
    many = version("v1", tasks, parameters=parameters)
    await install(world, many)

    found = await shards(world)
    assert [len(one["objects"]) for one in found] == [500, 500, 200]
    assert [one.get("complete") for one in found] == [True, None, None]
    assert Counter(map(str, await record(world))) == Counter(
        f"ConfigMap i-{number:04d}" for number in range(OBJECTS)
    )

    await change(world, parameters={"COUNT": str(LEFT)})
    dropped = {f"ConfigMap i-{number:04d}" for number in range(LEFT, OBJECTS)}
    assert orphaned(await record(world)) == dropped
    await until_told(world, *dropped)
    before = await versions(world)

    await world.patch("i", {"prune": True})
    await until_told(world)
    assert [len(one["objects"]) for one in await shards(world)] == [500, 500, 190]
    assert len(await configs(world)) == LEFT
    # An object stays in its Inventory, and one without changes is not written.
    after = await versions(world)
    assert after[:2] == before[:2]
    assert after[2] != before[2]
