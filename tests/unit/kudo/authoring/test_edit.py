"""Adding to a YAML file keeps everything that is written in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goyaml import load
from kudo.api.problems import InvalidInput
from kudo.authoring.edit import Addition, added

ITEM = Addition("items", {"name": "new", "spec": {"resources": ["a.yaml"]}})
PLAN = Addition("plans", {"strategy": "serial", "phases": []}, "backup")
RESOURCE = Addition("resources", "new.yaml", path=("tasks", 1, "spec"))
BLOCK = """\
{0}- name: new
{0}  spec:
{0}    resources:
{0}      - a.yaml
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "items:\n" + BLOCK.format("  ")),
        ("# none\n", "# none\nitems:\n" + BLOCK.format("  ")),
        ("a: 1", "a: 1\nitems:\n" + BLOCK.format("  ")),
        ("items:\n", "items:\n" + BLOCK.format("  ")),
        ("items: # none\nz: 1\n", "items: # none\n" + BLOCK.format("  ") + "z: 1\n"),
        ("items: []  # none\nz: 1\n", "items:  # none\n" + BLOCK.format("  ") + "z: 1\n"),
        ("items: null\nz: 1\n", "items:\n" + BLOCK.format("  ") + "z: 1\n"),
        ("items: ~", "items:\n" + BLOCK.format("  ")),
        ("items:\n- a\n\n# end\nz: 1\n", "items:\n- a\n" + BLOCK.format("") + "\n# end\nz: 1\n"),
        (
            "items:\n    - a: |\n        x\n\n        y\n\n# end\nz: 1\n",
            "items:\n    - a: |\n        x\n\n        y\n"
            + BLOCK.format("    ")
            + "\n# end\nz: 1\n",
        ),
        (
            "items:\n  - a:   # why\n    b: {c: [1,\n      2]} # two\nz: 1",
            "items:\n  - a:   # why\n    b: {c: [1,\n      2]} # two\n"
            + BLOCK.format("  ")
            + "z: 1",
        ),
        ("items:\n  - a:\n", "items:\n  - a:\n" + BLOCK.format("  ")),
        ("items:\n  - 'x\n\n    y'\n", "items:\n  - 'x\n\n    y'\n" + BLOCK.format("  ")),
        (
            "items: [a, {b: c}]  # flow\n",
            "items: [a, {b: c}, {name: new, spec: {resources: [a.yaml]}}]  # flow\n",
        ),
        ("items: [a,]\n", "items: [a, {name: new, spec: {resources: [a.yaml]}}]\n"),
        ("Items:\n  - é\n", "Items:\n  - é\n" + BLOCK.format("  ")),
        ("---\nitems:\n  - a\n", "---\nitems:\n  - a\n" + BLOCK.format("  ")),
        ("  items:\n    - a\n  z: 1\n", "  items:\n    - a\n" + BLOCK.format("    ") + "  z: 1\n"),
    ],
)
def test_an_item_is_added_behind_the_others(text: str, expected: str) -> None:
    assert added("f.yaml", text, ITEM) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "plans:\n  backup:\n    strategy: serial\n    phases: []\n"),
        ("plans: {}\n", "plans:\n  backup:\n    strategy: serial\n    phases: []\n"),
        (
            "plans:\n   deploy: # first\n     phases: [] # x\nz: 1\n",
            (
                "plans:\n   deploy: # first\n     phases: [] # x\n"
                "   backup:\n     strategy: serial\n     phases: []\nz: 1\n"
            ),
        ),
        (
            "plans: {deploy: {}}\n",
            "plans: {deploy: {}, backup: {strategy: serial, phases: []}}\n",
        ),
    ],
)
def test_an_entry_is_added_to_a_mapping(text: str, expected: str) -> None:
    assert added("f.yaml", text, PLAN) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "tasks:\n- a\n- spec:\n    resources:\n    - x # 1\n  n: b\n\nz: 1",
            "tasks:\n- a\n- spec:\n    resources:\n    - x # 1\n    - new.yaml\n  n: b\n\nz: 1",
        ),
        (
            "tasks: [a, {spec: {Resources: [x.yaml]}}] # one\n",
            "tasks: [a, {spec: {Resources: [x.yaml, new.yaml]}}] # one\n",
        ),
        (
            "tasks:\n  - a\n  - spec:\n      resources: []\n    name: b\n",
            "tasks:\n  - a\n  - spec:\n      resources:\n        - new.yaml\n    name: b\n",
        ),
    ],
)
def test_an_item_is_added_to_a_list_further_below(text: str, expected: str) -> None:
    assert added("f.yaml", text, RESOURCE) == expected


def test_a_list_that_is_not_written_there_is_an_error(subtests: pytest.Subtests) -> None:
    table = [
        ("tasks: [a]\n", "there is no tasks[1].spec.resources"),
        ("tasks: [a, b]\n", "there is no tasks[1].spec.resources"),
        ("x: &x {resources: [a]}\ntasks: [a, {spec: *x}]\n", "nothing can be added to tasks[1]."),
        ("tasks: [a, {spec: {}}]\n", "nothing can be added to tasks[1].spec.resources without"),
    ]
    for text, message in table:
        with subtests.test(text=text, message=message):
            with pytest.raises(InvalidInput) as caught:
                added("f.yaml", text, RESOURCE)
            assert message in str(caught.value)


def test_what_is_not_understood_is_refused_with_the_text_to_add(subtests: pytest.Subtests) -> None:
    table = [
        "{a: 1}\n",
        "a: 1\n...\n",
        "a: 1\n---\nb: 2\n",
        "items: &x\n  - a\nz: *x\n",
        "items: [a # one\n]\n",
        "items:\n  - |+\n    a\n\n",
    ]
    for text in table:
        with subtests.test(text=text):
            with pytest.raises(InvalidInput) as caught:
                added("f.yaml", text, ITEM)
            assert "f.yaml: nothing can be added to items without changing" in str(caught.value)
            assert "add this by hand:\nitems:\n  - name: new\n" in str(caught.value)


def test_a_file_of_another_shape_is_an_error(subtests: pytest.Subtests) -> None:
    table = [
        ("a: [", r"f\.yaml:\d: not valid YAML"),
        ("- a", "must be a mapping"),
        ("items: {}", "items must be a list"),
    ]
    for text, reason in table:
        with subtests.test(text=text, reason=reason):
            with pytest.raises(InvalidInput, match=reason):
                added("f.yaml", text, ITEM)
            with pytest.raises(InvalidInput, match="plans must be a mapping"):
                added("f.yaml", "plans: [a]", PLAN)


_VALUES = st.recursive(
    st.text(max_size=8) | st.booleans() | st.integers(-99, 99) | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(value=st.dictionaries(st.text(min_size=1, max_size=5), _VALUES, min_size=1, max_size=4))
def test_whatever_is_added_is_read_again_or_refused(value: dict[str, object]) -> None:
    text = "a: 1\nitems:\n  - b # c\nz: 2\n"
    try:
        result = added("f.yaml", text, Addition("items", value))
    except InvalidInput:
        return
    assert load(result) == {"a": 1, "items": ["b", value], "z": 2}
    assert result.startswith("a: 1\nitems:\n  - b # c\n")
    assert result.endswith("\nz: 2\n")
