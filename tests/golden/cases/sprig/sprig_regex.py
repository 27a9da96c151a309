# ruff: noqa: E501
"""Sprig's functions on regular expressions."""

from tests.golden.case import Case

_PATTERNS = (
    "a",
    "[a-z]+",
    "",
    "x*",
    "(a)(b)?",
    "^",
    "$",
    r"\\b",
    "b|",
    "[^a]",
    "(?i)A",
    ".",
    "(?s).",
    "(?P<n>a.)",
    "☃",
    "ö",
    r"\\d+",
    "^a",
    "a$",
    "(?m)^a",
    "ab*?",
    "(?:)",
    r"\\pL",
    r"[[:alpha:]]",
    "(?U)a+",
)
_TEXTS = ("", "a", "abab", "xaxbx", "größe ☃ 日本", "a\\nab\\n", "12 ab 345")
_BAD = (
    "(a",
    "a)",
    "*",
    "a**",
    "[a",
    "[z-a]",
    r"\\q",
    r"\\",
    "(?x)a",
    "(?P<a",
    "(?P<1>a)",
    "a{1001}",
    "(?=a)",
    r"\\C",
    "a{2,1}",
    "{}(d]1",
    "{all}(",
    "[[:foo:]]",
    r"\\pX",
    "(?i",
    "(a))",
    "+a",
    "a|*",
    "(?P<n>a)(?P<n>b)",
    "(?",
    "(?P=n)",
    r"\\1",
    "a{,2}{3}",
    "x{2}{3}",
)
_REPLACEMENTS = (
    "-",
    "",
    "$0",
    "${0}x",
    "$1",
    "$1x",
    "${1}x",
    "$2",
    "$$",
    "$",
    "$n",
    "${n}",
    "${n",
    "$9",
    "a$",
    "$-",
    "$01",
    "[$0$1]",
    "$ö",
    "${}",
)

CASES = [
    *[
        f'{{{{ regexMatch "{p}" "{t}" }}}}|{{{{ regexFind "{p}" "{t}" | quote }}}}|{{{{ regexFindAll "{p}" "{t}" -1 | toJson }}}}|{{{{ regexSplit "{p}" "{t}" -1 | toJson }}}}|{{{{ regexReplaceAll "{p}" "{t}" "<$0>" | quote }}}}'
        for p in _PATTERNS
        for t in _TEXTS
    ],
    *[
        f'{{{{ regexReplaceAll "(?P<n>a)(b)?" "abcab" "{r}" }}}}|{{{{ regexReplaceAllLiteral "a(b)?" "abcab" "{r}" }}}}'
        for r in _REPLACEMENTS
    ],
    *[
        f'{{{{ {name} "{p}" "a"{rest} }}}}'
        for name, rest in (
            ("regexMatch", ""),
            ("mustRegexMatch", ""),
            ("regexFind", ""),
            ("mustRegexFindAll", " 1"),
        )
        for p in _BAD
    ],
    *[
        f'{{{{ {name} "(" "a"{rest} }}}}'
        for name, rest in (
            ("mustRegexFind", ""),
            ("regexFindAll", " 1"),
            ("regexSplit", " 1"),
            ("mustRegexSplit", " 1"),
            ("regexReplaceAll", " `x`"),
            ("mustRegexReplaceAll", " `x`"),
            ("regexReplaceAllLiteral", " `x`"),
            ("mustRegexReplaceAllLiteral", " `x`"),
        )
    ],
    *[
        f"{{{{ regexFindAll `a.` `abacad` {n} }}}}|{{{{ regexSplit `,` `a,b,c,d` {n} | toJson }}}}|{{{{ regexSplit `` `abc` {n} | toJson }}}}|{{{{ mustRegexFindAll `a` `aaa` {n} | toJson }}}}|{{{{ mustRegexSplit `a` `baab` {n} | toJson }}}}"
        for n in (-1, 0, 1, 2, 3, 9)
    ],
    "{{ regexReplaceAll `a(x*)b` `-ab-axxb-` `${1}W` }}|{{ regexReplaceAll `a(x*)b` `-ab-axxb-` `$1W` }}|{{ mustRegexReplaceAll `a(x*)b` `-ab-axxb-` `${1}` }}|{{ mustRegexReplaceAllLiteral `a(x*)b` `-ab-axxb-` `${1}` }}|{{ mustRegexFind `b.` `abc` }}|{{ mustRegexMatch `^b` `abc` }}",
    "{{ regexQuoteMeta `1.2*3?(a)[b]{c}^$|\\+-/` }}|{{ regexQuoteMeta `ö☃ a` }}|{{ regexQuoteMeta `` | quote }}",
    "{{ regexFindAll `` `ö` -1 | len }}",
    Case(
        '{{ regexReplaceAll "." "a\\xffb" "x" }}',
        ours="x\ufffdx",
        why="a byte that is no UTF-8 matches nothing",
    ),
    '{{ mustRegexFind "\\xff" "a" }}',
    "{{ regexMatch 1 `a` }}",
    "{{ regexFind `a` .i }}",
    "{{ regexFindAll `a` `a` }}",
    "{{ regexFindAll `a` `a` `1` }}",
    "{{ regexSplit `a` `a` 1.5 }}",
    "{{ regexReplaceAll `a` `a` }}",
    "{{ regexQuoteMeta 1 }}",
    "{{ regexQuoteMeta }}",
    "{{ printf `%T %T` (regexFindAll `a` `a` 1) (regexSplit `a` `a` 1) }}|{{ regexFindAll `x` `a` -1 }}|{{ `abc` | regexMatch `b` }}|{{ `abc` | regexFind `b.` }}",
    "{{ regexMatch `^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\\.[A-Za-z]{2,}$` `test@acme.com` }}|{{ regexFind `[a-zA-Z][1-9]` `abcd1234` }}|{{ regexFindAll `[2,4,6,8]` `123456789` -1 }}",
]
