"""Properties of the whole engine, for texts and data nobody thought of.

Whatever the input, the engine gives a text or a `TemplateError`; nothing else may leave it.
"""

import string

from hypothesis import given, settings
from hypothesis import strategies as st

from gotemplate import Environment, Limits, TemplateError
from gotemplate.golang.gofmt import plain_text
from gotemplate.golang.literals import quote, unquote
from gotemplate.golang.values import from_bytes, to_bytes
from gotemplate.rendering import Rendering
from tests.support.selection.properties import examples

ENVIRONMENT = Environment(limits=Limits(steps=20_000, items=500, string=20_000), cache_chars=0)

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
DATA = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from("abcx") | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)
ROOTS = st.dictionaries(st.sampled_from("abcx"), DATA, max_size=4)

_PIECES = st.sampled_from(
    [
        *"{} .$|(),:=-+\"'`/*\n\t\\0123abx",
        *("{{", "}}", "{{- ", " -}}", "{{/*", "*/}}", ".a", ".b.c", "$x", "$x := ", "$x = ", "nil"),
        *(" if ", " else ", " end ", " range ", " with ", " define ", " template ", " block "),
        *(" break ", " continue ", "{{ end }}", "{{ else }}", '"x"', "1.5", "0x1f", "'a'", "true"),
        *(f" {name} " for name in sorted(ENVIRONMENT.function_names)),
        *("{{ if .a }}", "{{ range $i, $e := .b }}", "{{ with .x }}", "%d", "%[1]*.2f", "\\xff"),
    ]
)


def outcome(text: str, data: dict[str, object]) -> str | None:
    try:
        result = ENVIRONMENT.parse("t", text).render(data)
    except TemplateError as error:
        if not str(error).startswith("template: "):
            raise AssertionError(str(error)) from error
        return None
    result.encode()
    return result


@given(st.text(), ROOTS)
def test_any_text_renders_or_is_a_template_error(text: str, data: dict[str, object]) -> None:
    outcome(text, data)


@given(st.binary(), ROOTS)
def test_any_bytes_render_or_are_a_template_error(raw: bytes, data: dict[str, object]) -> None:
    outcome(from_bytes(raw), data)
    outcome("{{" + from_bytes(raw) + "}}", data)


@settings(max_examples=examples(60, deep=10_000))
@given(st.lists(_PIECES, max_size=25), ROOTS)
def test_any_pieces_of_templates_render_or_are_a_template_error(
    pieces: list[str], data: dict[str, object]
) -> None:
    outcome("".join(pieces), data)
    outcome("{{ " + "".join(pieces) + " }}", data)


_OPERANDS = st.sampled_from(
    [
        ".",
        "$",
        ".a",
        ".b",
        ".a.b",
        ".x",
        "nil",
        "1",
        "-2",
        "1.5",
        '"text"',
        "true",
        "`%d%s`",
        "(.a)",
    ]
)
_CALLS = st.builds(
    lambda name, args: " ".join([name, *args]),
    st.sampled_from(sorted(ENVIRONMENT.function_names)),
    st.lists(_OPERANDS, max_size=3),
)
_PIPES = st.lists(_CALLS | _OPERANDS, min_size=1, max_size=3).map(" | ".join)
_BODIES = st.recursive(
    _PIPES.map("{{{{ {} }}}}".format) | st.sampled_from(["text", "\n", "{{ $x := .a }}{{ $x }}"]),
    lambda inner: (
        st.builds(
            "{{{{ {} {} }}}}{}{{{{ else }}}}{}{{{{ end }}}}".format,
            st.sampled_from(["if", "with", "range", "range $i, $e :=", "range $i :="]),
            _PIPES,
            inner,
            inner,
        )
        | st.lists(inner, max_size=3).map("".join)
    ),
    max_leaves=8,
)


@settings(max_examples=examples(60, deep=10_000))
@given(_BODIES, ROOTS)
def test_any_well_formed_template_renders_or_is_a_template_error(
    text: str, data: dict[str, object]
) -> None:
    outcome(text, data)


@given(st.integers(0, 300), st.sampled_from(["if .a", "range .a", "with .a", 'block "b" .']))
def test_any_nesting_renders_or_is_a_template_error(depth: int, word: str) -> None:
    outcome(f"{{{{ {word} }}}}" * depth + "{{ end }}" * depth, {"a": [[[1]]]})
    outcome("{{ " + "(" * depth + ".a" + ")" * depth + " }}", {"a": 1})


@given(st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: "{{" not in text))
def test_text_without_actions_is_its_own_rendering(text: str) -> None:
    assert outcome(text, {}) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_quoted_string_renders_as_itself(text: str) -> None:
    assert outcome("{{ " + quote(text) + " }}", {}) == text
    assert outcome("{{ .a }}", {"a": text}) == text


@given(st.binary())
def test_quoting_and_unquoting_are_inverse_for_any_bytes(raw: bytes) -> None:
    text = from_bytes(raw)

    assert to_bytes(text) == raw
    assert unquote(quote(text)) == text
    assert unquote(quote(text, ascii_only=True)) == text
    assert quote(text, ascii_only=True).isascii()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_float_reads_back_exactly(number: float) -> None:
    assert float(plain_text(Rendering(Limits()), number)) == number


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_print_and_read_exactly(number: int) -> None:
    assert outcome("{{ .a }}", {"a": number}) == str(number)
    assert outcome(f"{{{{ {number} }}}}", {}) == str(number)
    assert outcome(f'{{{{ int "{number}" }}}}', {}) == str(number)


@given(st.integers(), st.integers())
def test_arithmetic_stays_within_64_bits(one: int, two: int) -> None:
    for name in ("add", "sub", "mul", "max", "min"):
        result = outcome(f"{{{{ {name} .a .b }}}}", {"a": one, "b": two})
        assert result is not None
        assert -(2**63) <= int(result) < 2**63


@given(st.text(string.printable))
def test_html_escaping_leaves_no_mark_of_html(text: str) -> None:
    result = outcome("{{ html .a }}", {"a": text})

    assert result is not None
    assert not set("<>\"'") & set(result)
