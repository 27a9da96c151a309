"""Hostile templates: every limit is kept, and exceeding it is an error that names it."""

import dataclasses
import subprocess
import sys
from collections.abc import Callable

import pytest

from gotemplate import INLINE, Environment, Limits, TemplateError

SMALL = Limits(
    source=10_000,
    tokens=2_000,
    nesting=10,
    steps=5_000,
    output=1_000,
    depth=5,
    string=500,
    items=100,
    width=50,
    value_depth=5,
    bits=100,
    pattern=50,
    expensive=0,
)


def limit_of(text: str, limits: Limits = SMALL, **data: object) -> str:
    with pytest.raises(TemplateError) as caught:
        Environment(limits=limits).parse("t", text).render(data)
    assert f"{caught.value.limit} limit exceeded" in str(caught.value)
    return caught.value.limit


def render(text: str, limits: Limits = SMALL, **data: object) -> str:
    return Environment(limits=limits).parse("t", text).render(data)


def test_source() -> None:
    assert limit_of("x" * 10_001) == "source"
    assert limit_of("x" * (1 << 20), Limits()) == "source"


def test_tokens() -> None:
    assert limit_of("{{ print" + " 1" * 2_000 + " }}") == "tokens"
    assert limit_of("{{ 1 }}" * 1_000) == "tokens"


def test_data_is_copied_for_functions_that_change_it_alone() -> None:
    data = {"large": list(range(1_000))}
    limits = Limits(steps=100)

    assert render("set {{ .set }}", limits, set="x", **data) == "set x"
    assert limit_of('{{ set . "a" 1 }}', limits, **data) == "steps"
    assert limit_of('{{ define "a" }}{{ set . "a" 1 }}{{ end }}', limits, **data) == "steps"


def test_each_field_counts_as_a_token(subtests: pytest.Subtests) -> None:
    """The delimiter at the end of an action counts when another token is read."""
    table = [
        ("{{ .a.b.c }}", 4),
        ("text{{ .a.b.c }}", 5),
        ("{{ .a.b.c }}{{ .a }}", 7),
        ("{{- .a.b.c -}} text", 4),
        ("{{ len .a.b.c }}", 5),
        ("{{ $.a.b.c }}", 5),
        ("{{ $ }}", 2),
        ("{{ if .a }}x{{ else }}y{{ end }}", 11),
    ]
    for text, needed in table:
        with subtests.test(text=text, needed=needed):
            data = {"a": {"b": {"c": "xyz"}}}

            assert render(text, Limits(tokens=needed), **data)
            assert limit_of(text, Limits(tokens=needed - 1), **data) == "tokens"


def test_nesting(subtests: pytest.Subtests) -> None:
    table: list[Callable[[int], str]] = [
        lambda n: "{{" + "(" * n + "1" + ")" * n + "}}",
        lambda n: "{{ if 1 }}" * n + "{{ end }}" * n,
        lambda n: "{{ if 0 }}" + "{{ else if 1 }}" * (n - 1) + "{{ end }}",
        lambda n: "{{ range 1 }}" * n + "{{ end }}" * n,
        lambda n: "{{ with 1 }}" * n + "{{ end }}" * n,
        lambda n: "".join(f'{{{{ block "b{i}" . }}}}' for i in range(n)) + "{{ end }}" * n,
    ]
    for nest in table:
        with subtests.test(nest=nest):
            render(nest(10), dataclasses.replace(SMALL, depth=50))
            assert limit_of(nest(11)) == "nesting"


def test_nesting_is_refused_long_before_python_would() -> None:
    assert limit_of("{{ if 1 }}" * 5_000, Limits()) == "nesting"
    assert limit_of("{{ " + "(" * 20_000, Limits()) == "nesting"


def test_nesting_deeper_than_the_stack_is_an_error_too() -> None:
    limits = Limits(nesting=1_000_000, tokens=1_000_000)

    assert limit_of("{{ if 1 }}" * 10_000 + "{{ end }}" * 10_000, limits) == "nesting"
    assert limit_of("{{ " + "(" * 20_000 + "1" + ")" * 20_000 + " }}", limits) == "nesting"
    assert limit_of("{{ 1" + " | print" * 10_000 + " }}", limits) == "nesting"


def test_steps() -> None:
    table = [
        "{{ range 100000000000 }}{{ end }}",
        "{{ range until 100 }}{{ range until 100 }}x{{ end }}{{ end }}",
        (
            '{{ define "a" }}{{ range until 80 }}{{ template "b" }}{{ end }}{{ end }}'
            '{{ define "b" }}{{ range until 80 }}{{ end }}{{ end }}{{ template "a" }}'
        ),
        "{{ range until 100 }}{{ range until 100 }}{{ continue }}{{ end }}{{ end }}",
    ]
    for text in table:
        assert limit_of(text) == "steps"


def test_reading_long_strings_costs_steps(subtests: pytest.Subtests) -> None:
    for call in ["len $.s", "upper $.s", "index $.s 0", "int $.s", "eq $.s $.t"]:
        with subtests.test(call=call):
            limits = Limits(steps=5_000)
            text = f"{{{{ range until 100 }}}}{{{{ $x := {call} }}}}{{{{ end }}}}"

            assert limit_of(text, limits, s="é" * 20_000, t="éé" * 10_000) == "steps"


def test_output() -> None:
    assert limit_of("{{ range until 20 }}{{ $.s }}{{ end }}", s="x" * 100) == "output"


def test_template_calls() -> None:
    assert limit_of('{{ define "x" }}{{ template "x" }}{{ end }}{{ template "x" }}') == "depth"
    mutual = (
        '{{ define "x" }}{{ template "y" }}{{ end }}{{ define "y" }}{{ template "x" }}{{ end }}'
    )
    assert limit_of(mutual + '{{ template "x" }}') == "depth"


def test_template_calls_after_each_other_are_no_depth() -> None:
    assert render('{{ define "x" }}.{{ end }}{{ range until 20 }}{{ template "x" }}{{ end }}') == (
        "." * 20
    )


def test_strings() -> None:
    table = [
        '{{ $x := "0123456789" }}{{ range 20 }}{{ $x = print $x $x }}{{ end }}',
        '{{ $x := "0123456789" }}{{ range 20 }}{{ $x = printf "%s%s" $x $x }}{{ end }}',
        '{{ printf "%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s" .s }}',
        "{{ print .s .s .s .s .s .s }}",
        "{{ println .s .s .s .s .s .s }}",
        "{{ html .s .s .s .s .s .s }}",
        "{{ indent 40 `\n\n\n\n\n\n\n\n\n\n\n\n\n\n` }}",
        "{{ quote .s .s .s .s .s .s }}",
        "{{ .l }}",
        "{{ toYaml .l }}",
        "{{ toJson .l }}",
        "{{ join .s .l }}",
        "{{ repeat 6 .s }}",
        "{{ repeat 1000000000000 `a` }}",
        "{{ randAlpha 501 }}",
        "{{ replace `x` `xxxxxx` .s }}",
        "{{ regexReplaceAll `x` .s `xxxxxx` }}",
        "{{ cat .s .s .s .s .s .s }}",
        "{{ b64enc (repeat 4 .s) }}",
    ]
    for text in table:
        assert limit_of(text, s="x" * 100, l=["x" * 100] * 6) == "string"


def test_items() -> None:
    for text in ("{{ until 101 }}", "{{ untilStep 0 1000 3 }}", "{{ until -101 }}"):
        assert limit_of(text) == "items"
    for text in ("{{ seq 101 }}", "{{ seq 0 3 1000 }}", "{{ splitList `` (repeat 101 `a`) }}"):
        assert limit_of(text) == "items"
    assert limit_of("{{ untilStep -9223372036854775808 9223372036854775807 1 }}") == "items"


def test_widths() -> None:
    table = ['printf "%51d" 1', 'printf "%.51f" 1.0', 'printf "%*d" 51 1', 'indent 51 "a"']
    for call in table:
        assert limit_of(f"{{{{ {call} }}}}") == "width"


def test_patterns() -> None:
    assert render('{{ regexMatch "^x+$" (repeat 3 "x") }}') == "true"
    assert limit_of('{{ regexMatch (repeat 51 "x") "x" }}') == "pattern"
    assert limit_of('{{ regexReplaceAll (repeat 51 "x") "x" "y" }}') == "pattern"
    assert limit_of('{{ semverCompare (repeat 51 "1 ") "1.2.3" }}') == "pattern"


def test_expensive_calls() -> None:
    table = [
        'genPrivateKey "rsa"',
        'genCA "a" 1',
        'genSelfSignedCert "a" nil nil 1',
        'htpasswd "a" "b"',
        'bcrypt "a"',
        'derivePassword 1 "long" "a" "b" "c"',
    ]
    for call in table:
        assert limit_of(f"{{{{ {call} }}}}") == "expensive"


def test_values_inside_each_other(subtests: pytest.Subtests) -> None:
    for call in ["$l", "print $l", 'printf "%v" $l', "toYaml $l", "quote $l"]:
        with subtests.test(call=call):
            grow = "{{ $l := list 1 }}{{ range 9 }}{{ $l = list $l }}{{ end }}"

            assert limit_of(f"{grow}{{{{ {call} }}}}") == "value_depth"


@pytest.mark.parametrize("call", ["$l", "print $l", 'printf "%d" $l', "toYaml $l", "quote $l"])
def test_values_that_share_their_parts_cost_what_they_print(call: str) -> None:
    grow = "{{ $l := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}"

    assert limit_of(f"{grow}{{{{ {call} }}}}", Limits(steps=100_000)) in {"steps", "string"}


def test_data_that_contains_itself() -> None:
    data: dict[str, object] = {}
    data["self"] = data

    assert limit_of("{{ .self }}", Limits(), **data) == "value_depth"
    assert limit_of("{{ toYaml .self }}", Limits(), **data) == "value_depth"


def test_integers() -> None:
    assert limit_of("{{ .i }}", i=10**5000) == "bits"
    assert limit_of('{{ printf "%x" .i }}', i=10**5000) == "bits"
    assert render("{{ .i }}", i=10**20) == "1" + "0" * 20
    assert render("{{ add .i 1 }}", i=2**63 - 1) == str(-(2**63))
    grow = "{{ $x := 3 }}{{ range 200 }}{{ $x = mul $x $x }}{{ end }}{{ $x }}"
    assert -(2**63) <= int(render(grow)) < 2**63


def test_numbers_of_any_length_are_read_quickly() -> None:
    for digits in ("9" * 200_000, "1e" + "9" * 200_000, "0x" + "f" * 200_000, "1_" * 100_000 + "1"):
        with pytest.raises(TemplateError, match="illegal number syntax"):
            Environment().parse("t", f"{{{{ {digits} }}}}")


def test_the_callers_clock_stops_a_rendering() -> None:
    asked = 0

    def expired() -> bool:
        nonlocal asked
        asked += 1
        return asked > 10

    template = Environment().parse("t", "{{ range until 1000 }}{{ . }}{{ end }}")
    with pytest.raises(TemplateError) as caught:
        template.render({}, expired=expired)

    assert caught.value.limit == "time"
    assert asked == 11
    assert template.render({}, expired=lambda: False).startswith("0123")


def test_a_limit_exceeded_in_a_function_names_the_call() -> None:
    with pytest.raises(TemplateError) as caught:
        render("a {{ until 1000 }}")

    assert str(caught.value) == (
        'template: t:1:5: executing "t" at <until 1000>: '
        "error calling until: items limit exceeded: at most 100"
    )


def test_the_default_limits_leave_room_for_large_manifests() -> None:
    text = (
        "{{ range $i, $v := until 2000 }}- name: n{{ $v }}\n  value: {{ $.s | quote }}\n{{ end }}"
    )

    assert len(render(text, Limits(), s="x" * 100)) > 200_000


def test_rendering_works_deep_in_the_callers_stack() -> None:
    template = Environment().parse("t", "{{ if 1 }}" * 50 + "{{ ((1)) }}" + "{{ end }}" * 50)

    def deeper(levels: int) -> str:
        return template.render({}) if levels == 0 else deeper(levels - 1)

    assert deeper(300) == "1"
    with pytest.raises((TemplateError, RecursionError)):
        deeper(sys.getrecursionlimit())


def test_work_on_every_character_or_item_is_paid_for(subtests: pytest.Subtests) -> None:
    table = [
        ('regexMatch "a{0,999}" "b"', 200),
        ("regexMatch (repeat 80 `a{0,999}`) `b`", 10_000),
        ('regexMatch "(" "b"', 900),
        ("regexFind `(a|b|c)*d` .s", 150),
        ("sortAlpha .l", 400),
        ("toStrings .l", 400),
        ("date .s 0", 4_000),
        ("toDate (trunc 900 .s) (trunc 900 .s)", 3_000),
        ("dateModify .s now", 4_000),
        ("durationRound .s", 4_000),
        ("js .s", 1_000),
        ("shuffle .s", 4_000),
        ("randAlpha 8000", 4_000),
        ("printf (repeat 1000 `%d`) 1", 1_000),
        ("has -1 .l", 800),
        ("uniq .l", 800),
        ("compact .l", 100),
        ("chunk 1 .l", 100),
    ]
    for call, least in table:
        with subtests.test(call=call, least=least):
            text, data = f"{{{{ $x := {call} }}}}", {"s": "b" * 8_000, "l": list(range(800))}

            assert render(text, Limits(), **data) == ""
            assert limit_of(text, Limits(steps=least), **data) == "steps"


# Patterns of which RE2's own memory limit, 8 MiB, lets some compile for a minute.
@pytest.mark.parametrize(
    "pattern", ["a{0,999}" * 110, "(a{0,999}|b)" * 70, r"\\pL{1,999}" * 80, "[^x]{999}" * 100]
)
def test_patterns_that_compile_to_much_are_refused(pattern: str) -> None:
    with pytest.raises(TemplateError, match="pattern too large"):
        render(f'{{{{ regexFind "{pattern}" "a" }}}}', Limits())


def test_a_search_is_paid_for_before_it_begins() -> None:
    text = '{{ regexFind "(a|b|c|d)*[^x]{900}" .s }}'

    assert limit_of(text, Limits(steps=100_000), s="b" * 80_000) == "steps"
    assert limit_of(text, Limits(search=1_000_000), s="b" * 80_000) == "search"


def test_all_searches_of_a_rendering_count_together() -> None:
    text = '{{ range 100 }}{{ regexFind "ab*c" $.s }}{{ end }}'

    assert render(text, Limits(), s="b" * 1_000) == ""
    assert limit_of(text, Limits(search=200_000), s="b" * 1_000) == "search"
    assert limit_of('{{ regexReplaceAll "b" .s "c" }}', Limits(search=1 << 16), s="b" * 500) == (
        "search"
    )


def test_instructions_of_a_pattern() -> None:
    assert limit_of('{{ regexFind "a{500}" "a" }}', Limits(program=400)) == "program"


# What an event loop may render at once. Each of these would take it long under the full limits.
def test_inline_limits_end_what_would_hold_an_event_loop() -> None:
    table: list[tuple[str, str]] = [
        ("x" * 33_000, "source"),
        ("{{ 1 }}" * 1_000, "tokens"),
        ("{{ range 10000 }}{{ end }}", "steps"),
        ("{{ range until 500 }}{{ range until 500 }}{{ end }}{{ end }}", "steps"),
        ("{{ range 70 }}{{ repeat 1000 `x` }}{{ end }}", "output"),
        ("{{ repeat 20000 `x` }}", "string"),
        ("{{ until 2000 }}", "items"),
        ('{{ regexFind "a{0,999}" "a" }}', "program"),
        ('{{ regexFind (repeat 40 "a{0,9}") "a" }}', "pattern"),
        ('{{ range 90 }}{{ regexFind "a{0,400}b" (repeat 900 "a") }}{{ end }}', "search"),
        ('{{ derivePassword 1 "long" "a" "b" "c" }}', "expensive"),
        ('{{ genCA "a" 1 }}', "expensive"),
        ('{{ encryptAES "a" "b" }}', "expensive"),
        ('{{ decryptAES "a" (b64enc (repeat 32 "b")) }}', "expensive"),
        ('{{ define "x" }}{{ template "x" }}{{ end }}{{ template "x" }}', "depth"),
        ("{{ range .l }}{{ toYaml $.l }}{{ end }}", "steps"),
        ("{{ range .l }}{{ if has . $.l }}{{ end }}{{ end }}", "steps"),
    ]
    for text, limit in table:
        assert limit_of(text, INLINE, l=[f"x{number}" for number in range(300)]) == limit


def test_what_an_event_loop_may_render_loads_no_large_library() -> None:
    # It takes 40 ms of CPU, on the first thread that asks for it.
    calls = (
        "genPrivateKey `rsa`",
        "genCA `a` 9",
        "genSelfSignedCert `a` nil nil 9",
        "genSignedCert `a` nil nil 9 (genCA `a` 9)",
        "buildCustomCert `YQ==` `YQ==`",
        "encryptAES `a` `b`",
        "derivePassword 1 `long` `a` `b` `c`",
        "htpasswd `a` `b`",
    )
    program = f"""
import subprocess
import sys
from gotemplate import INLINE, Environment, TemplateError
for call in {calls!r}:
    try:
        Environment(limits=INLINE).parse("t", "{{{{ " + call + " }}}}").render({{}})
    except TemplateError as error:
        print(error.limit)
print(*[name for name in sys.modules if name.split(".")[0] == "cryptography"])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["expensive"] * len(calls) + [""]
