"""The public API: environments, templates, functions of one's own, and errors.

What templates mean is in the golden cases; this file covers what Go has no counterpart for.
"""

import pickle
import re
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

import pytest

import gotemplate
from gotemplate import Environment, Function, FunctionError, Limits, TemplateError
from gotemplate.types.signature import STRING

_README = Path(__file__).parents[3] / "libs" / "gotemplate" / "README.md"


def render(text: str, environment: Environment | None = None, **data: object) -> str:
    return (environment or Environment()).parse("t", text).render(data)


def error_of(text: str, environment: Environment | None = None, **data: object) -> TemplateError:
    with pytest.raises(TemplateError) as caught:
        render(text, environment, **data)
    return caught.value


def test_a_template_is_parsed_once_and_rendered_often() -> None:
    template = Environment().parse(
        "t", "{{ $x := .n }}{{ range .l }}{{ $x = add $x . }}{{ end }}{{ $x }}"
    )

    assert template.render({"n": 1, "l": [1, 2]}) == "4"
    assert template.render({"n": 5, "l": []}) == "5"
    assert template.name == "t"


def test_parsing_the_same_text_under_the_same_name_gives_the_same_template() -> None:
    environment = Environment()

    assert environment.parse("a", "x") is environment.parse("a", "x")
    assert environment.parse("a", "x") is not environment.parse("b", "x")


def test_the_cache_forgets_the_oldest_templates() -> None:
    environment = Environment(cache_chars=300)
    first = environment.parse("a", "x")
    second = environment.parse("b", "x")
    assert environment.parse("a", "x") is first
    environment.parse("c", "x")

    assert environment.parse("a", "x") is first
    assert environment.parse("b", "x") is not second


def test_a_cache_without_room_keeps_nothing() -> None:
    environment = Environment(cache_chars=0)

    assert environment.parse("a", "x") is not environment.parse("a", "x")


def test_an_execution_error_has_its_place_and_context() -> None:
    error = error_of("a\nbü {{ .Params.X }}", Params={})

    assert error.name == "t"
    assert (error.line, error.column) == (2, 14)
    assert error.message == 'map has no entry for key "X"'
    assert error.context == ".Params.X"
    assert error.executing == "t"
    assert error.limit == ""
    assert str(error) == (
        'template: t:2:14: executing "t" at <.Params.X>: map has no entry for key "X"'
    )


def test_a_parse_error_has_its_line() -> None:
    error = error_of("a\n{{ nosuch }}")

    assert (error.line, error.column, error.executing, error.context) == (2, 0, "", "")
    assert str(error) == 'template: t:2: function "nosuch" not defined'


def test_an_error_inside_a_define_names_it() -> None:
    error = error_of('{{ define "part" }}{{ .x.y }}{{ end }}{{ template "part" . }}', x="s")

    assert error.executing == "part"
    assert error.name == "t"


def test_errors_survive_pickling() -> None:
    error = error_of("{{ .x }}")
    copy = pickle.loads(pickle.dumps(error))

    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_long_contexts_and_messages_are_cut() -> None:
    error = error_of(f'{{{{ index .l "{"x" * 9000}" }}}}', l=[])

    assert len(str(error)) < 5000
    assert error.context.endswith("...")


def test_unknown_options_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown policy"):
        Environment(policy="helm")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown missing_key"):
        Environment(missing_key="invalid")  # type: ignore[arg-type]


def test_the_operator_policy_has_nothing_that_leaves_the_process() -> None:
    names = Environment(policy="operator").function_names

    for name in ("env", "expandenv", "base", "dir", "clean", "ext", "isAbs", "getHostByName"):
        assert name not in names
        assert error_of(f"{{{{ {name} }}}}").message == f'function "{name}" not defined'


def test_the_operator_policy_takes_nothing_else_away() -> None:
    operator = Environment(policy="operator").function_names
    sprig = Environment(policy="sprig").function_names

    assert operator <= sprig
    assert {"eq", "min", "until", "toYaml", "default", "indent"} <= operator


def test_functions_of_ones_own_have_the_types_of_their_annotations() -> None:
    def repeat(count: int, text: str) -> str:
        return text * count

    environment = Environment(functions={"times": repeat})

    assert render('{{ times 2 "ab" }}|{{ "x" | times 3 }}', environment) == "abab|xxx"
    assert "wrong number of args for times: want 2 got 1" in str(
        error_of("{{ times 1 }}", environment)
    )
    assert "expected integer; found" in str(error_of('{{ times "1" "a" }}', environment))
    assert "expected string; got int" in str(error_of("{{ times 1 .x }}", environment, x=1))


def test_functions_of_ones_own_may_take_any_number_of_anything() -> None:
    def count(*values: object) -> int:
        return len(values)

    environment = Environment(functions={"count": count})

    assert render("{{ count }}{{ count 1 nil .x }}", environment, x=[]) == "03"


def test_exceptions_of_functions_become_template_errors() -> None:
    def fail() -> str:
        raise KeyError("gone")

    def refuse() -> str:
        raise FunctionError("not today")

    environment = Environment(functions={"fail": fail, "refuse": refuse})

    assert "error calling fail: 'gone'" in str(error_of("{{ fail }}", environment))
    assert "error calling refuse: not today" in str(error_of("{{ refuse }}", environment))


def test_functions_that_need_names_are_refused() -> None:
    def named(*, key: str) -> str:
        return key

    with pytest.raises(TypeError, match="cannot be given by name"):
        Environment(functions={"named": named})


def test_a_declared_function_replaces_one_of_the_policy() -> None:
    shout = Function("upper", lambda text: f"{text}!", (STRING,))

    assert render('{{ upper "a" }}', Environment(functions={"upper": shout})) == "a!"


def test_break_may_be_a_function_as_in_go() -> None:
    environment = Environment(functions={"break": lambda: "b"})

    assert render("{{ break }}", environment) == "b"


def test_data_is_not_changed() -> None:
    data: dict[str, object] = {"m": defaultdict(list), "l": [2, 1]}

    assert error_of("{{ .m.x }}", None, **data).message == 'map has no entry for key "x"'
    render("{{ range .l }}{{ . }}{{ end }}{{ index .m `y` }}{{ list .l }}", None, **data)
    assert data == {"m": {}, "l": [2, 1]}


def test_any_mapping_is_a_map(subtests: pytest.Subtests) -> None:
    for wrap in [OrderedDict, MappingProxyType, dict]:
        with subtests.test(wrap=wrap):
            inner = wrap({"b": 1, "a": [1, (2, 3)]})
            text = (
                "{{ .m.b }} {{ .m.a }} {{ len .m }} {{ index .m `b` }}"
                "{{ range $k, $v := .m }} {{ $k }}{{ end }}"
            )

            assert (
                Environment().parse("t", text).render(wrap({"m": inner})) == "1 [1 [2 3]] 2 1 a b"
            )


class _Version:
    """A value with methods."""

    def __init__(self, text: str) -> None:
        self.text = text

    def go_type(self) -> str:
        return "*semver.Version"

    def go_text(self) -> str:
        return self.text

    def go_method(self, name: str) -> Callable[..., object] | None:
        def longer(count: int) -> bool:
            if count < 0:
                raise FunctionError("negative")
            return len(self.text) > count

        methods: dict[str, Callable[..., object]] = {"Text": lambda: self.text, "Longer": longer}
        return methods.get(name)


def test_values_may_offer_methods_and_nothing_else() -> None:
    data: dict[str, object] = {"v": _Version("1.2.3")}

    assert render("{{ .v }} {{ .v.Text }} {{ .v.Longer 2 }} {{ 9 | .v.Longer }}", None, **data) == (
        "1.2.3 1.2.3 true false"
    )
    assert render('{{ printf "%s %q %T" .v .v .v }}{{ if .v }}y{{ end }}', None, **data) == (
        '1.2.3 "1.2.3" *semver.Versiony'
    )
    assert error_of("{{ .v.text }}", None, **data).message == (
        "can't evaluate field text in type interface {}"
    )
    assert error_of("{{ with .v }}{{ .go_text }}{{ end }}", None, **data).message == (
        "can't evaluate field go_text in type *semver.Version"
    )
    assert error_of("{{ .v.Longer -1 }}", None, **data).message == "error calling Longer: negative"


class _Trap:
    """An object no template may learn anything about."""

    secret = "secret"

    def __str__(self) -> str:
        raise AssertionError("asked for its text")

    def __getattr__(self, name: str) -> object:
        if name.startswith("go_"):
            raise AttributeError(name)
        raise AssertionError(f"asked for {name}")


def test_python_objects_are_opaque() -> None:
    for text in (
        "{{ .o.secret }}",
        "{{ .o.__class__ }}",
        "{{ (.o).__init__ }}",
        "{{ index .o 0 }}",
    ):
        error_of(text, o=_Trap())
    assert render('{{ .o }}{{ printf "%v%d%s" .o .o .o }}{{ print .o }}', o=_Trap()) == "{}" * 5
    assert render("{{ if .o }}set{{ end }}", o=_Trap()) == "set"


def test_python_attributes_of_data_are_out_of_reach(subtests: pytest.Subtests) -> None:
    for name in ["__class__", "__dict__", "keys", "items", "format", "real"]:
        with subtests.test(name=name):
            for value in ("text", 1, 1.5, True, [1], (1,)):
                assert "can't evaluate field" in str(error_of(f"{{{{ .v.{name} }}}}", v=value))
            assert "map has no entry" in str(error_of(f"{{{{ .v.{name} }}}}", v={}))


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    assert render('{{ "\\xff" }}{{ b64dec "/w==" }}') == "\ufffd\ufffd"
    assert render('{{ print "\\xc3" "\\xa9" }}') == "é"
    assert render("{{ .s }}", s="\ud800") == "\ufffd"
    assert render("\ud800").encode() == "\ufffd".encode()


def test_templates_are_rendered_by_many_threads_at_once() -> None:
    environment = Environment()
    text = "{{ $x := .n }}{{ range until 50 }}{{ $x = add $x . }}{{ end }}{{ $x }}"
    results: dict[int, set[str]] = {}

    def work(number: int) -> None:
        results[number] = {environment.parse("t", text).render({"n": number}) for _ in range(50)}

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == {number: {str(number + 1225)} for number in range(8)}


def test_errors_of_many_threads_name_the_places_of_their_own_renderings() -> None:
    template = Environment().parse("t", "{{ (or .a .b).x }}")
    results: dict[str, set[str]] = {}

    def work(first: str) -> None:
        found = results[first] = set()
        for _ in range(200):
            with pytest.raises(TemplateError) as caught:
                template.render({"a": first, "b": 1})
            found.add(caught.value.context)

    threads = [threading.Thread(target=work, args=(first,)) for first in ("", "a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == {"": {".b"}, "a": {".a"}, "b": {".a"}, "c": {".a"}}


def test_limits_are_shared_by_all_templates_of_an_environment() -> None:
    environment = Environment(limits=Limits(output=3))

    assert render("abc", environment) == "abc"
    assert error_of("abcd", environment).limit == "output"


def test_the_readme_names_all_that_is_exported() -> None:
    table = {line for line in _README.read_text().splitlines() if line.startswith("| `")}
    named = {name for line in table for name in re.findall(r"`(\w+)`", line.split("|")[1])}

    assert set(gotemplate.__all__) <= named


def test_the_example_of_the_readme_gives_what_it_says() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", _README.read_text(), re.DOTALL)
    *before, last = example.strip().splitlines()
    names: dict[str, object] = {}
    exec("\n".join(before), names)
    expression, _, expected = last.partition("  # ")

    assert repr(eval(expression, names)) == expected
