"""Whatever authors of templates write, mending takes away what is refused, and nothing else.

An API server is played here: it knows fields named `ok` and `items`, the latter a list with the
key `name`, and words refusals as Kubernetes 1.36 does.
"""

import itertools
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from gotemplate import quote
from kudo.api import Json, JsonObject
from kudo.objects.typed_patch import mended
from tests.support.selection.properties import examples

HEAD = "failed to create typed patch object (default/x; x.example.org/v1, Kind=Thing): "
UNKNOWN = ": field not declared in schema"

PIECES = ["a", "ok", ".", "[", "]", '"', "=", ",", ":", " ", "\n  ", "\\", UNKNOWN, "items[0]", "é"]
KNOWN = {"ok", "items", "name", "kind"}
NAMES = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)


def objects(depth: int) -> st.SearchStrategy[Json]:
    if depth == 0:
        return st.integers(0, 3)
    inner = objects(depth - 1)
    items = st.lists(st.builds(named, NAMES, fields(ok=inner)), max_size=3)
    return fields(ok=inner, items=items)


def fields(**known: st.SearchStrategy[Json]) -> st.SearchStrategy[JsonObject]:
    unknown = st.dictionaries(NAMES.filter(lambda name: name not in KNOWN), st.just(1), max_size=2)
    return st.builds(merged, st.fixed_dictionaries({}, optional=known), unknown)


def named(name: str, item: JsonObject) -> JsonObject:
    return {**item, "name": name}


def merged(known: JsonObject, unknown: JsonObject) -> JsonObject:
    return {**known, **unknown}


def faults(node: Json, path: str = "") -> Iterator[str]:
    """Yield what the server would refuse."""
    for name, value in node.items() if isinstance(node, dict) else ():
        if name not in KNOWN:
            yield f"{path}.{name}{UNKNOWN}"
        elif name == "items":
            yield from item_faults(value, f"{path}.items")
        else:
            yield from faults(value, f"{path}.{name}")


def item_faults(items: list[JsonObject], path: str) -> Iterator[str]:
    seen = set()
    for item in items:
        key = f"[name={quote(item['name'])}]"
        if key in seen:
            yield f"{path}: duplicate entries for key {key}"
        seen.add(key)
        yield from faults(item, f"{path}{key}")


def accepted(node: Json) -> Json:
    """Return what is left of an object once nothing is refused any more."""
    if not isinstance(node, dict):
        return node
    kept = {name: accepted(value) for name, value in node.items() if name in KNOWN}
    if "items" in kept:
        items = {item["name"]: accepted(item) for item in node["items"]}
        kept["items"] = list(items.values())
    return kept


def worded(found: list[str]) -> str:
    return HEAD + (found[0] if len(found) == 1 else "\n  ".join(["errors:", *found]))


@settings(max_examples=examples(60, deep=10_000))
@given(objects(3), st.integers(1, 4))
def test_applying_and_mending_ends_with_an_object_without_faults(
    content: JsonObject, told: int
) -> None:
    target: JsonObject = {"kind": "Thing", "ok": content}
    expected = accepted(target)

    while found := list(itertools.islice(faults(target), told)):
        better = mended(target, worded(found))
        assert better is not None, worded(found)
        target = better.target

    assert target == expected


@settings(max_examples=examples(60, deep=10_000))
@given(objects(2), st.lists(st.sampled_from([*PIECES, ".ok", "[0]", '[name="a"]']), max_size=12))
def test_no_text_makes_mending_fail(content: JsonObject, text: list[str]) -> None:
    target: JsonObject = {"kind": "Thing", "ok": content}

    found = mended(target, HEAD + "".join(text))

    assert found is None or found.target != target


def test_a_call_does_a_bounded_share_of_much_work() -> None:
    items = [{"name": f"n{number}"} for number in range(60_000)]
    target: JsonObject = {"kind": "Thing", "items": items + items[:50]}

    found = mended(target, worded(list(faults(target))))

    assert found is not None
    assert 1 <= len(found.notes) < 50
    assert len(found.target["items"]) == len(target["items"]) - len(found.notes)


def test_a_key_of_many_equals_signs_is_read_in_one_go() -> None:
    target: JsonObject = {"kind": "Thing", "items": [{"name": "a", "foo": 1}]}

    assert mended(target, f"{HEAD}.items[{'a=' * 100_000}].foo{UNKNOWN}") is None


def test_the_path_in_a_note_is_short() -> None:
    name = "x" * 100_000
    target: JsonObject = {"kind": "Thing", name: 1}

    found = mended(target, f"{HEAD}.{name}{UNKNOWN}")

    assert found is not None
    assert len(found.notes[0].text) < 250
