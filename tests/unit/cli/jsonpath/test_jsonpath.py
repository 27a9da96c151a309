"""JSONPath templates: the examples of kubectl's documentation, and what each form means."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_kudo.jsonpath.evaluate import find
from kubectl_kudo.jsonpath.nodes import JsonPathError
from kubectl_kudo.jsonpath.parser import parse_path, parse_template
from kubectl_kudo.jsonpath.render import render

NODES: dict[str, Any] = {
    "kind": "List",
    "name.type": "dotted",
    "items": [
        {
            "kind": "None",
            "metadata": {
                "name": "127.0.0.1",
                "labels": {"kubernetes.io/hostname": "127.0.0.1"},
            },
            "status": {
                "capacity": {"cpu": "4"},
                "addresses": [{"type": "LegacyHostIP", "address": "127.0.0.1"}],
            },
        },
        {
            "kind": "None",
            "metadata": {"name": "127.0.0.2"},
            "status": {
                "capacity": {"cpu": "8"},
                "addresses": [
                    {"type": "LegacyHostIP", "address": "127.0.0.2"},
                    {"type": "another", "address": "127.0.0.3"},
                ],
            },
        },
    ],
    "users": [
        {"name": "myself", "user": {}},
        {"name": "e2e", "user": {"username": "admin", "password": "secret"}},
    ],
}
"""The object of kubectl's documentation, and a key with a dot."""

SHOP: dict[str, Any] = {
    "sizes": [1, 2, 3, 4, 5],
    "prices": [
        {"of": "tea", "cents": 250, "hot": True},
        {"of": "milk", "cents": 90, "hot": False},
        {"of": "water", "cents": None},
    ],
    "empty": [],
    "nothing": None,
    "name": "shop",
    "groups": [{"name": "a", "members": [{"n": 1}, {"n": 2}]}, {"name": "b", "members": []}],
}


def rendered(template: str, value: Any = NODES) -> str:
    return render(parse_template(template), value)


def test_the_examples_of_kubectl() -> None:
    rows = [
        ("kind is {.kind}", "kind is List"),
        ("{.kind}", "List"),
        ("{['kind']}", "List"),
        (r"{['name\.type']}", "dotted"),
        ("{..name}", "127.0.0.1 127.0.0.2 myself e2e"),
        ("{.items[*].metadata.name}", "127.0.0.1 127.0.0.2"),
        ("{.users[0].name}", "myself"),
        (
            "{.items[*]['metadata.name', 'status.capacity']}",
            '127.0.0.1 127.0.0.2 {"cpu":"4"} {"cpu":"8"}',
        ),
        ('{.users[?(@.name=="e2e")].user.password}', "secret"),
        (
            "{range .items[*]}[{.metadata.name}, {.status.capacity}] {end}",
            '[127.0.0.1, {"cpu":"4"}] [127.0.0.2, {"cpu":"8"}] ',
        ),
        (r"{range .items[*]}{.metadata.name}{'\t'}{end}", "127.0.0.1\t127.0.0.2\t"),
        (r"{.items[0].metadata.labels.kubernetes\.io/hostname}", "127.0.0.1"),
        (
            '{range .items[*]}{.metadata.name}{"\\t"}{.status.capacity.cpu}{"\\n"}{end}',
            "127.0.0.1\t4\n127.0.0.2\t8\n",
        ),
        (
            '{.items[*].status.addresses[?(@.type=="LegacyHostIP")].address}',
            "127.0.0.1 127.0.0.2",
        ),
        ("{.items[*]['metadata.name','kind']}", "127.0.0.1 127.0.0.2 None None"),
    ]
    assert [(template, rendered(template)) for template, _ in rows] == rows


def test_the_current_object_is_the_whole_one() -> None:
    assert rendered("{@}", {"b": [1, None, True], "a": "ä"}) == '{"a":"ä","b":[1,null,true]}'
    assert rendered("{$}", {"a": 1}) == rendered("{.}", {"a": 1}) == '{"a":1}'


def test_what_each_form_selects() -> None:
    rows = [
        ("{.sizes[0]}", "1"),
        ("{.sizes[-1]}", "5"),
        ("{.sizes[-1:]}", "5"),
        ("{.sizes[1:3]}", "2 3"),
        ("{.sizes[:2]}", "1 2"),
        ("{.sizes[::2]}", "1 3 5"),
        ("{.sizes[1:5:3]}", "2 5"),
        ("{.sizes[0,2,-1]}", "1 3 5"),
        ("{.sizes[ 1 , 2 ]}", "2 3"),
        ("{.sizes}", "[1,2,3,4,5]"),
        ("{.sizes.*}", "1 2 3 4 5"),
        ("{.prices[0].*}", "tea 250 true"),
        ("{.empty[*]}|{.empty[0:1]}|{.nothing[0]}|{.nothing.x}", "|||"),
        ("{.none}|{.none[0].x}|{.name.x}", "||"),
        ("{.nothing}", "null"),
        ("{.prices[?(@.cents>100)].of}", "tea"),
        ("{.prices[?(@.cents<=90)].of}", "milk"),
        ("{.prices[?(@.cents != 90)].of}", "tea water"),
        ("{.prices[?(@.cents==90.0)].of}", "milk"),
        ("{.prices[?(@.cents!=90.0)].of}", "tea water"),
        ("{.prices[?(@.hot)].of}", "tea milk"),
        ("{.prices[?(@.hot==false)].of}", "milk"),
        ("{.prices[?(@.hot==true)].of}", "tea"),
        ("{.prices[?( 'tea' == @.of )].cents}", "250"),
        ("{.prices[?(@.of<'n')].of}", "milk"),
        ("{.groups[?(@.members[?(@.n==2)])].name}", "a"),
        ("{.groups[?(@.name==$.groups[0].name)].name}", "a"),
        (
            "{range .groups[*]}{.name}:{range .members[*]}{.n},{end};{end}",
            "a:1,2,;b:;",
        ),
        ("{range .groups[*]}{@.name} of {$.name} {end}", "a of shop b of shop "),
        ("{range .none[*]}x{end}", ""),
        ("{.sizes[0]}{' '}{.name}", "1 shop"),
        ("{'it''s'}", "its"),
        (r"{'it\'s'}", "it's"),
        (r'{"\"\\"}', '"\\'),
        (r"{'\x41\u00e4\U0001F600\r'}", "Aä😀\r"),
        (r"\n{.name}", r"\nshop"),
        ("{3}{-1.5}{true}", "3-1.5true"),
        ("{ .name }", "shop"),
        ("{$.name}{@.name}{.['name']}{[\"name\"]}", "shop" * 4),
        ("", ""),
        ("no braces", "no braces"),
    ]
    assert [(template, rendered(template, SHOP)) for template, _ in rows] == rows


@pytest.mark.parametrize(
    ("template", "position", "problem"),
    [
        ("{.a", 1, "{ without }"),
        ("x{range .a[*]}y", 2, "{range} without {end}"),
        ("{end}", 1, "{end} without {range}"),
        ("{.a[0}", 6, 'expected ] instead of "}"'),
        ("{.a[0", 4, "[ without ]"),
        ("{.a[x]}", 5, 'expected an index, a slice, *, ?(…) or a name in quotes instead of "x"'),
        ("{.a['b]}", 5, "the name has no closing '"),
        ("{.a['']}", 5, "the name is empty"),
        ("{.a['b..c']}", 8, "a name is empty"),
        ('{"abc}', 2, 'the text has no closing "'),
        ("{.a[?(@.b=='x']}", 15, 'expected ) instead of "]"'),
        ("{.a[?@.b]}", 6, 'expected ( instead of "@"'),
        ("{.a[?(@.b=~'x')]}", 10, "regular expressions are not supported, as with kubectl"),
        (
            "{.a[?(@.b==1 && @.c)]}",
            14,
            "a filter compares once; && is not supported, as with kubectl",
        ),
        ("{.a[::0]}", 5, "the step of a slice must be greater than 0"),
        ("{a}", 2, 'unknown word "a"; a field is written .a, and text "a"'),
        ("{.a..}", 6, 'expected the name of a field instead of "}"'),
        ("{.a}{.b)}", 8, 'expected a path instead of ")"'),
        ("{.a[99999999999999999999]}", 5, "the number is too large"),
        (r"{'\UFFFFFFFF'}", 3, "there is no such character"),
        ("{.a" + "[?(.a" * 60, 254, "too many ranges or filters inside each other"),
    ],
)
def test_a_template_that_is_none_is_an_error_with_its_position(
    template: str, position: int, problem: str
) -> None:
    with pytest.raises(JsonPathError) as caught:
        parse_template(template)
    assert problem in caught.value.problem
    assert str(caught.value) == f"character {position}: {caught.value.problem}"


@pytest.mark.parametrize(
    ("template", "position", "problem"),
    [
        ("{.sizes[5]}", 9, "array index out of bounds: index 5, length 5"),
        ("{.empty[0]}", 9, "array index out of bounds: index 0, length 0"),
        ("{.name[0]}", 8, "text is not a list"),
        ("{.prices[0][?(@.x)]}", 12, "a mapping is not a list"),
        (
            "{.prices[?(@.of==1)]}",
            9,
            "incompatible types for comparison: text and a number: put quotes around the number",
        ),
        (
            "{.groups[?(@.members==1)]}",
            9,
            "incompatible types for comparison: a list and a number",
        ),
        (
            "{.groups[?(@.members[*].n==1)]}",
            9,
            "can only compare one value at a time",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_an_error_with_its_position(
    template: str, position: int, problem: str
) -> None:
    with pytest.raises(JsonPathError) as caught:
        rendered(template, SHOP)
    assert str(caught.value) == f"character {position}: {problem}"


@pytest.mark.parametrize("text", ["{.name}", ".name", "name", " { .name } ", "['name']", "$.name"])
def test_a_single_path_may_leave_out_braces_and_dot(text: str) -> None:
    assert find(parse_path(text), SHOP) == ["shop"]


@pytest.mark.parametrize("text", ["", "{}", "{.a", ".a}", ".a b", "{range .a}"])
def test_a_path_that_is_none_is_an_error(text: str) -> None:
    with pytest.raises(JsonPathError):
        parse_path(text)


@given(st.text(alphabet="{}[]().,:*?@$'\"\\=<>!&|~ -19anrged\n", max_size=40))
def test_every_text_is_a_template_or_an_error_with_a_position_in_it(text: str) -> None:
    assert 0 <= _position_of_error(text) <= len(text)


def _position_of_error(text: str) -> int:
    try:
        rendered(text, SHOP)
    except JsonPathError as error:
        return error.position
    return 0
