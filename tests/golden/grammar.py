# ruff: noqa: RUF005, SIM905
"""Random templates and data for hypothesis, by family.

Most of what comes out is well formed and names data that is there, because errors hide what comes
after them; the rest is wrong in every way the grammar allows. Numbers that a template could loop
over, or make a long text of, are small: real Go has no limits.
"""

import string
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hypothesis import strategies as st

from gotemplate import Function
from gotemplate.types.signature import ANY, Param

Template = st.SearchStrategy[str]

# Functions whose answer is random, new every time, slow, or made of the machine; and fromYaml,
# which is not Go's and has errors of its own.
UNSTEADY: Final = frozenset(
    """
    ago bcrypt buildCustomCert date dateInZone date_in_zone derivePassword encryptAES env expandenv
    genCA genCAWithKey genPrivateKey genSelfSignedCert genSelfSignedCertWithKey genSignedCert
    genSignedCertWithKey getHostByName htmlDate htmlDateInZone htpasswd now randAlpha randAlphaNum
    randAscii randBytes randInt randNumeric shuffle uuidv4 keys values
    fromYaml base clean dir ext isAbs osBase osClean osDir osExt osIsAbs
    """.split()
)
_BUILTINS: Final = (
    "and or not len index slice print println html js urlquery eq ne lt le gt ge".split()
)
_COMPARISONS: Final = frozenset("eq ne lt le gt ge".split())
# Functions that make as much as a number says.
SIZING: Final = frozenset("indent nindent repeat seq until untilStep printf".split())

_SMALL: Final = st.integers(-3, 12)
_INTEGERS: Final = _SMALL | st.sampled_from([255, 65536, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)])
_FLOATS: Final = st.sampled_from(
    [0.0, 1.0, 1.5, -2.25, 0.1, 1e6, 123456.789, 1e-5, 1e20, 1e21, 1e100, 2.5, -0.5, 3.0]
)
_WORDS: Final = st.sampled_from(
    [
        "",
        "a",
        "B c",
        "text",
        " pad ",
        "1",
        "-7",
        "08",
        "1.5",
        "true",
        "é☃",
        "a,b,c",
        "a\nb",
        "<&'\">",
    ]
)
_TEXTS: Final = _WORDS | st.text(string.printable + "éß☃日\u2028\U0001f600", max_size=6)
_KEYS: Final = st.sampled_from(["a", "b", "x", "é", "k 1", "A"])

_SCALARS: Final = st.none() | st.booleans() | _SMALL | _FLOATS | _TEXTS
_VALUES: Final = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=6,
)

DATA: Final[st.SearchStrategy[Mapping[str, Any]]] = st.fixed_dictionaries(
    {
        "s": _TEXTS,
        "i": _SMALL,
        "f": _FLOATS,
        "t": st.booleans(),
        "n": st.none(),
        "big": _INTEGERS,
        "l": st.lists(_SCALARS, max_size=4),
        "m": st.dictionaries(_KEYS, _VALUES, max_size=3),
        "any": _VALUES,
        "deep": st.fixed_dictionaries({"l": st.lists(_VALUES, max_size=2), "s": _TEXTS}),
    }
)

_PATHS: Final = st.sampled_from(
    [".", "$", ".s", ".i", ".f", ".t", ".n", ".l", ".m", ".any", ".deep.l", ".deep.s", "$.s"]
    + ["$.m", "$v", "$v", ".m.a", ".m.b.x", ".deep.gone", "$.gone", ".s.x", ".l.x", ".any.a"]
)


def _quoted(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{plain}"' if plain.isprintable() else f"`{text.replace('`', '')}`"


_STRINGS: Final = _TEXTS.map(_quoted)
_NUMBERS: Final = st.sampled_from(
    ["0", "1", "2", "3", "-1", "10", "1.0", "1.5", "-0.5", "1e3", "0x1F", "0b11", "0o17", "1_000"]
    + ["'a'", "'\\n'", "'é'", "1e-7", "1e21", "2i", "1+2i", "0x1p4"]
    + ["+5", ".5", "017"]
)
# What a template could loop over for hours.
_HUGE: Final = st.sampled_from(
    ["9223372036854775807", "-9223372036854775808", "9223372036854775808"]
)
_LITERALS: Final = _STRINGS | _NUMBERS | st.sampled_from(["true", "false", "nil"])
_OPERANDS: Final = _PATHS | _LITERALS
_SIZES: Final = st.sampled_from(["0", "1", "2", "3", "-1", "5", "12", ".i", '"x"', "1.5", "nil"])

_VERBS: Final = st.text("vdsqxXobcUeEfFgGtTwO%z!", min_size=1, max_size=1)
_DIRECTIVES: Final = st.builds(
    lambda flags, index, width, precision, verb: f"%{flags}{index}{width}{precision}{verb}",
    st.text("+-# 0", max_size=2),
    st.sampled_from(["", "", "", "", "[1]", "[2]", "[9]", "[x]"]),
    st.sampled_from(["", "", "1", "5", "12", "*", "[1]*"]),
    st.sampled_from(["", "", ".", ".0", ".2", ".10", ".*", ".[2]*"]),
    _VERBS,
)
_FORMATS: Final = st.lists(
    _DIRECTIVES | st.sampled_from(["a", " ", "é", "%%", "%"]), min_size=1, max_size=3
).map("".join)


_BIG: Final = st.just(".big")
_PRESENT: Final = st.sampled_from(
    [".s", ".i", ".f", ".t", ".l", ".m", ".any", ".deep.l", ".deep.s", "$.s", "$v", ".deep", ".n"]
    + ['"a"', '"b c"', "1", "2", "1.5", "true", "(list 1 `a` .s)", "nil"]
)
_BY_TYPE: Final[Mapping[str, Template]] = {
    "string": st.sampled_from([".s", ".deep.s", "$.s", '"a"', '"a,b"', '","', '""']) | _STRINGS,
    "int": st.sampled_from([".i", "0", "1", "2", "3", "-1"]),
    "float64": st.sampled_from([".f", "1.5", "2", "-0.5"]),
    "[]interface {}": st.sampled_from([".l", ".deep.l", "(list 1 2 2)", "(list `b` `a` .s)"]),
    "map[string]interface {}": st.sampled_from([".m", ".deep", "$"]),
    "time.Time": st.sampled_from(["(toDate `2006-01-02` `2024-02-29`)", "(toDate `x` .s)"]),
}


def _often(usual: Template, rare: Template) -> Template:
    return st.integers(0, 6).flatmap(lambda chance: usual if chance else rare)


def _joined(parts: Sequence[str]) -> str:
    return " ".join(parts)


def _call(names: st.SearchStrategy[str], arguments: Template, most: int = 3) -> Template:
    return st.builds(
        lambda name, args: _joined([name, *args]), names, st.lists(arguments, max_size=most)
    )


class Grammar:
    """The templates of a set of functions.

    `families` has a strategy for each family; every one of its templates may be rendered with any
    `DATA`.
    """

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        steady = set(functions) - UNSTEADY - SIZING
        sizing = sorted(SIZING.intersection(functions) - {"printf"})
        self.families: Mapping[str, Template] = {
            "expressions": self._actions(self._pipes(_BUILTINS, _often(_OPERANDS, _HUGE | _BIG))),
            "functions": self._actions(self._pipes(sorted(steady))),
            "printf": self._actions(self._printf()),
            "sizes": self._actions(self._sizes(sizing)),
            "control": self._bodies(),
            "syntax": self._broken(),
        }

    def _typed_call(self, name: str, inner: Template) -> Template:
        """Give calls with as many arguments as the function takes, most of the right type."""
        function = self._functions[name]
        some = self._of_type(name, ANY if function.rest is None else function.rest, inner)
        required = [self._of_type(name, param, inner) for param in function.params]
        most = 0 if function.rest is None else 3
        return st.builds(
            lambda args, rest: _joined([name, *args, *rest]),
            st.tuples(*required),
            st.lists(some, max_size=most),
        )

    def _of_type(self, name: str, param: Param, inner: Template) -> Template:
        if param.go_type in _BY_TYPE:
            return _often(_BY_TYPE[param.go_type], inner)
        if name in _COMPARISONS:
            return st.sampled_from([".i", "1", "2", "(add 1 2)"]) | inner
        return _often(_PRESENT, inner)

    def _pipes(self, names: Sequence[str], wild: Template = _OPERANDS) -> Template:
        name = st.sampled_from(names)

        def nested(inner: Template) -> Template:
            call = _often(
                name.flatmap(lambda chosen: self._typed_call(chosen, inner)), _call(name, inner)
            )
            tail = st.sampled_from([""] * 12 + [".a", ".x.y"])
            return st.builds("({}){}".format, call, tail)

        operands = _often(_PRESENT, wild)
        deep = st.recursive(operands, nested, max_leaves=3)
        calls = name.flatmap(lambda chosen: self._typed_call(chosen, deep))
        unary = [name for name in names if len(self._functions[name].params) <= 1]
        stages = st.sampled_from(unary) | _call(name, operands, 1)
        return st.builds(
            lambda first, rest: " | ".join([first, *rest]),
            _often(calls, _call(name, deep)),
            st.just([]) | st.lists(stages, max_size=2),
        )

    def _actions(self, pipes: Template) -> Template:
        return st.builds(
            lambda first, pipe: f"{{{{ $v := {first} }}}}{{{{ {pipe} }}}}", _PRESENT, pipes
        )

    def _sizes(self, names: Sequence[str]) -> Template:
        name = st.sampled_from(names)
        typed = name.flatmap(lambda chosen: self._typed_call(chosen, _SIZES))
        return _often(typed, _call(name, _SIZES | _STRINGS))

    def _printf(self) -> Template:
        values = _OPERANDS | st.sampled_from([".big", "(list .i .s)", "(add 1 2)", "(until 3)"])
        return st.builds(
            lambda form, args: _joined(["printf", _quoted(form), *args]),
            _FORMATS,
            st.lists(values, max_size=4),
        )

    def _bodies(self) -> Template:
        names = [*_BUILTINS, "list", "default", "add", "quote"]
        pipe = _often(_PRESENT, self._pipes(names))
        simple = st.one_of(
            pipe.map("{{{{ {} }}}}".format),
            pipe.map("{{{{- {} -}}}}".format),
            pipe.map("{{{{ $v = {} }}}}".format),
            pipe.map("{{{{ $w := {} }}}}{{{{ $w }}}}".format),
            st.sampled_from(["text", " \n ", "{{/* note */}}", "{{- /* n */ -}}", "é", "{{ . }}"]),
            st.sampled_from(["{{ $v }}", '{{ template "d" $ }}', '{{ template "d" . }}']),
            pipe.map('{{{{ template "d" {} }}}}'.format),
            _PRESENT.map("{{{{ {} }}}}".format),
        )
        body = st.recursive(simple, lambda inner: self._blocks(pipe, inner), max_leaves=8)
        return st.builds(
            lambda first, define, rest: (
                f'{{{{ define "d" }}}}{define}{{{{ end }}}}{{{{ $v := {first} }}}}{rest}'
            ),
            _PRESENT,
            st.sampled_from(["[{{ . }}]", "{{ $v := . }}{{ $v }}", "", "{{ .s }}", "{{ .gone }}"]),
            body,
        )

    def _blocks(self, pipe: Template, inner: Template) -> Template:
        # What is looped over is small, so no pipelines here: they could compute large numbers.
        loops = st.sampled_from(
            [".l", ".m", ".deep.l", "3", ".i", "$v", "until 3", ".n", ".s", "list 1 .s nil", ".any"]
        )
        jumps = st.sampled_from(
            ["", "", "{{ break }}", "{{ if $v }}{{ continue }}{{ end }}", "{{ continue }}"]
        )
        heads = st.sampled_from(["range", "range $e :=", "range $i, $v :=", "range $v ="])
        return st.one_of(
            st.lists(inner, max_size=3).map("".join),
            st.builds(
                "{{{{ {} {} }}}}{}{{{{ else }}}}{}{{{{ end }}}}".format,
                st.sampled_from(["if", "with", "if $v :=", "with $v :="]),
                pipe,
                inner,
                inner,
            ),
            st.builds(
                "{{{{ if {} }}}}{}{{{{ else if {} }}}}{}{{{{ end }}}}".format,
                pipe,
                inner,
                pipe,
                inner,
            ),
            st.builds(
                "{{{{ with {} }}}}{}{{{{ else with {} }}}}{}{{{{ end }}}}".format,
                pipe,
                inner,
                pipe,
                inner,
            ),
            st.builds(
                "{{{{ {} {} }}}}{}{}{}{{{{ else }}}}{}{{{{ end }}}}".format,
                heads,
                loops,
                inner,
                jumps,
                inner,
                inner,
            ),
            st.builds('{{{{ block "b" {} }}}}{}{{{{ end }}}}'.format, pipe, inner),
        )

    def _broken(self) -> Template:
        """Give templates with a piece taken out or put in somewhere."""
        pieces = st.sampled_from(
            [*"{} .$|(),:=-+\"'`/*\n\\0a%", "{{", "}}", "{{-", "-}}", "{{/*", "*/}}", ":=", ".a.b"]
            + ["end", "else", "nil", "$z", "1.2.3", "0x", "'ab'", "{{end}}", "{{else}}", " break "]
            + ["define", "template", "block", "range", "if", "with", "é", "\x00", "\u2028", "==="]
        )
        return st.builds(
            _mutated,
            self._bodies(),
            st.lists(st.tuples(st.integers(0, 200), st.integers(0, 6), pieces), max_size=2),
        )


def _mutated(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    for place, length, piece in changes:
        at = place % (len(text) + 1)
        text = text[:at] + piece + text[at + length :]
    return text
