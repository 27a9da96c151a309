"""JSON that is nested too deeply: what lies near the top is read."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeio.types import Json
from kubeio.watch import DEPTH, decode, shallow

_texts = st.text(alphabet='a"\\{}[],: \n', max_size=6)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | _texts,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(_texts, below, max_size=3),
    max_leaves=20,
)


def levels(value: Json) -> int:
    found = 0
    while isinstance(value, dict):
        value, found = value.get("a"), found + 1
    return found


@given(st.dictionaries(_texts, _json) | st.lists(_json), _texts)
async def test_what_is_not_too_deep_is_found_as_it_is(value: Any, rest: str) -> None:
    text = orjson.dumps(value).decode()
    assert await shallow(f"x{text}{rest}", 1) == (text, len(text) + 1)
    for end in range(len(text)):
        assert await shallow(text[:end], 0) is None


@pytest.mark.parametrize("many", [DEPTH, DEPTH + 1, 2000, 10_000])
async def test_what_lies_too_deep_is_left_out(many: int) -> None:
    text = '{"a":' * many + "1" + "}" * many
    found = await shallow(text, 0)
    assert found is not None
    assert levels(orjson.loads(found[0])) == min(many, DEPTH)
    assert found[1] == len(text)
    assert levels(await decode(text)) == (many if many < 1000 else DEPTH)


@pytest.mark.parametrize("text", ["", "{", "}", '{"a":}', '{"a":1}}', '{"a":1} x', '"a', "nul"])
async def test_what_is_no_json_is_no_json(text: str) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        await decode(text)
