"""Templates that need more than they may: each ends its own plan, and nobody else waits for it."""

import asyncio

import pytest

from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.interface import World

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def version(name: str, text: str) -> Json:
    return build.operator_version(
        name,
        templates={"t.yaml": text},
        plans={"deploy": build.plan({"step": ["task"]})},
        tasks=[{"name": "task", "kind": "Apply", "spec": {"resources": ["t.yaml"]}}],
    )


# The text of the limit, by template. No input reaches the seconds that it took once.
HOSTILE = {
    "patterns that repeat": (
        HEAD + "data: {a: {{ regexFind (repeat 110 `a{0,999}`) `b` }}}",
        "pattern too large",
    ),
    "a search of a long text": (
        HEAD + "data: {a: {{ regexFind `(a|b|c|d)*[^x]{900}` (repeat 80000 `b`) }}}",
        "steps limit exceeded: at most 500000; split the template",
    ),
    "output that is aliases": (
        HEAD + "data:\n  a: &a [{{ repeat 9000 `x,` }}]\n  b: [{{ repeat 9000 `*a,` }}]",
        "more than 400000 values; split the template",
    ),
    "a loop that never ends": (
        HEAD + "{{ range 100000000000 }}{{ end }}",
        "steps limit exceeded: at most 500000; split the template",
    ),
    "a text that grows": (
        HEAD + "{{ $x := `0123456789` }}{{ range 40 }}{{ $x = print $x $x }}{{ end }}",
        "string limit exceeded: at most 1048576; split the template",
    ),
    "documents without end": (
        "{{ repeat 60000 `null\n---\n` }}",
        "more than 400000 values; split the template",
    ),
    "brackets without end": (
        HEAD + "data: {{ repeat 100000 `[` }}",
        "nested deeper than 100 levels; split the template",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
async def test_the_plan_ends_with_the_limit_and_what_to_do(world: World, case: str) -> None:
    text, expected = HOSTILE[case]
    await world.apply(version("hostile-1", text), build.instance("i", "hostile-1"))

    found = instances.messages(await world.until_failed("i"), "deploy")
    assert "t.yaml" in found
    assert expected in found


async def test_others_deploy_beside_templates_that_need_all_they_may(world: World) -> None:
    text = HOSTILE["a search of a long text"][0]
    hostile = [version(f"hostile-{number}", f"{text} # {number}") for number in range(4)]
    await world.apply(*hostile, version("plain-1", build.template(build.config_map("plain"))))
    await world.apply(*[build.instance(f"h{number}", f"hostile-{number}") for number in range(4)])
    await world.apply(build.instance("plain", "plain-1"))

    await world.until_complete("plain")
    await asyncio.gather(*(world.until_failed(f"h{number}") for number in range(4)))
