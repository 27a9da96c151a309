# ruff: noqa: E501
"""Sprig's functions on maps, defaults and types."""

from tests.golden.case import Case

_MAPS = (
    ".m",
    ".nomap",
    ".nil",
    "nil",
    ".l",
    ".s",
    "(dict)",
    "(dict `a` 1)",
    "(split `,` `x,y`)",
    "1",
    ".zzz",
)
_VALUES = (
    ".s",
    ".empty",
    ".i",
    ".zero",
    ".f",
    "0.0",
    ".t",
    ".fa",
    ".nil",
    "nil",
    ".l",
    ".none",
    ".m",
    ".nomap",
    "(until 0)",
    "(until 2)",
    "(add 0 0)",
    "`0`",
    "(split `,` `a`)",
    "(rest (list 1))",
    "1i",
    "(chunk 1 .l)",
)
_MERGED = (
    ("(dict `a` 1)", "(dict `a` 2 `b` 3)"),
    ("(dict `a` 0)", "(dict `a` 9)"),
    ("(dict `a` 5)", "(dict `a` 0)"),
    ("(dict `a` nil)", "(dict `a` 1)"),
    ("(dict `a` 1)", "(dict `a` nil)"),
    ("(dict)", "(dict `a` nil)"),
    ("(dict `a` (dict `x` 1))", "(dict `a` (dict `x` 2 `y` 3))"),
    ("(dict `a` (dict))", "(dict `a` (dict `x` 2))"),
    ("(dict `a` (dict `x` 2))", "(dict `a` (dict))"),
    ("(dict `a` (list 1 2))", "(dict `a` (list 3))"),
    ("(dict `a` (list))", "(dict `a` (list 3))"),
    ("(dict `a` (list 1))", "(dict `a` (list))"),
    ("(dict `b` 1)", "(dict `a` (list 3))"),
    ("(dict)", "(dict `a` (list 3))"),
    ("(dict `a` false)", "(dict `a` true)"),
    ("(dict `a` true)", "(dict `a` false)"),
    ("(dict `a` ``)", "(dict `a` `x`)"),
    ("(dict `a` (dict `b` (dict `c` 1)))", "(dict `a` (dict `b` (dict `c` 2 `d` 3) `e` 4))"),
    ("(dict `a` nil)", "(dict `a` (dict `x` 1))"),
    ("nil", "(dict `a` 1)"),
    ("(dict `a` 1)", "nil"),
    ("(dict `a` 1)", ""),
    ("(dict `a` 1)", "(dict `a` 2) (dict `a` 3 `c` 4)"),
    (".m", "(dict `b` 9 `c` (dict `e` 1))"),
    (".l", "(dict)"),
    ("(dict)", ".l"),
    ("(split `,` `a`)", "(dict)"),
    ("(dict)", "(dict `a` false `b` 0 `c` `` `d` (list) `e` (dict) `f` 0.0)"),
    ("(dict `a` true `b` 1 `c` `x`)", "(dict `a` false `b` 0 `c` ``)"),
    ("(dict `a` (dict `x` 1 `y` true))", "(dict `a` (dict `x` 0 `y` false `z` false))"),
    ("(dict `a` nil)", "(dict `a` 0)"),
    ("(dict `a` nil)", "(dict `a` nil)"),
    ("(dict `a` (dict `x` 1))", "(dict `a` nil)"),
    ("(dict `a` 0)", "(dict `a` 0)"),
    ("(dict `a` (list))", "(dict `a` (list))"),
    ("(dict `a` 1)", "(dict `a` 0) (dict `a` 2 `b` 0) (dict `b` 3)"),
)
_TYPES_DIFFER = (
    ("(dict `a` `x`)", "(dict `a` (dict `x` 1))", "map[a:x]", "map[a:map[x:1]]"),
    ("(dict `a` (dict `x` 1))", "(dict `a` `x`)", "map[a:map[x:1]]", "map[a:x]"),
    ("(dict `a` 1)", "(dict `a` (list 3))", "map[a:1]", "map[a:[3]]"),
    ("(dict `a` (list 3))", "(dict `a` 1)", "map[a:[3]]", "map[a:1]"),
    ("(dict `a` 1.5)", "(dict `a` `x`)", "map[a:1.5]", "map[a:x]"),
    ("(dict `a` 0)", "(dict `a` (dict `x` 1))", "map[a:map[x:1]]", "map[a:map[x:1]]"),
    ("(dict `a` 1)", "(dict `a` 2.5)", "map[a:1]", "map[a:2.5]"),
)
"""What `merge` and `mergeOverwrite` make of these here, and in Sprig 3."""
_TYPES_WHY = "the original renders nothing where a value of both maps has different types"

CASES = [
    *[
        f"{{{{ {name} {found} `a` }}}}"
        for name in ("get", "hasKey", "unset", "pick", "omit")
        for found in _MAPS
    ],
    *[f"{{{{ set {found} `k` 1 }}}}" for found in _MAPS],
    *[
        f"{{{{ {name} {found} }}}}"
        for name in ("keys", "values")
        for found in _MAPS
        if found != ".m"
    ],
    *[
        f"{{{{ {name} {found} }}}}"
        for name in ("deepCopy", "mustDeepCopy")
        for found in _MAPS
        if "nil" not in found
    ],
    *[f"{{{{ pluck `a` {found} .m }}}}" for found in _MAPS],
    *[
        f"{{{{ {name} {one} {two} }}}}"
        for name in ("merge", "mergeOverwrite")
        for one, two in _MERGED
    ],
    *[
        f"{{{{ {name} {one} {two} | toJson }}}}"
        for name in ("mustMerge", "mustMergeOverwrite")
        for one, two in (*_MERGED[:25], *_MERGED[-9:])
    ],
    *[
        Case(f"{{{{ {name} {one} {two} }}}}", ours=ours, why=_TYPES_WHY)
        for one, two, merged, overwritten in _TYPES_DIFFER
        for name, ours in (("merge", merged), ("mergeOverwrite", overwritten))
    ],
    *[
        f"{{{{ {name} {value} }}}}"
        for name in ("empty", "typeOf", "kindOf", "coalesce", "all", "any")
        for value in _VALUES
    ],
    *[f"{{{{ default `d` {value} }}}}" for value in _VALUES],
    *[
        f"{{{{ typeIs `{name}` {value} }}}}|{{{{ typeIsLike `{name}` {value} }}}}|{{{{ kindIs `{kind}` {value} }}}}"
        for name, kind in (
            ("string", "string"),
            ("int", "int"),
            ("[]interface {}", "slice"),
            ("map[string]interface {}", "map"),
        )
        for value in (".s", ".i", ".l", ".m", ".nil", "(add 1 1)", "(until 1)")
    ],
    *[
        f"{{{{ deepEqual {one} {two} }}}}"
        for one, two in (
            ("1", "1"),
            ("1", "1.0"),
            ("(list 1)", "(list 1)"),
            ("(list 1)", "(list 2)"),
            ("(list)", "(until 0)"),
            (".m", ".m"),
            ("(dict `a` 1)", "(dict `a` 1)"),
            ("(dict `a` 1)", "(dict `b` 1)"),
            ("nil", "nil"),
            ("nil", "0"),
            ("``", "nil"),
            ("(add 1 0)", "1"),
            ("(int64 1)", "(add 1 0)"),
            ("`a`", "`a`"),
            ("(splitList `,` `a`)", "(list `a`)"),
            ("true", "true"),
            ("1.5", ".f"),
            ("(chunk 1 .l)", "(chunk 1 .l)"),
        )
    ],
    *[
        f"{{{{ {name} }}}}"
        for name in (
            "dict",
            "get",
            "set",
            "keys",
            "values",
            "merge",
            "pick",
            "omit",
            "dig",
            "pluck",
            "default",
            "coalesce",
            "all",
            "any",
            "ternary",
            "deepCopy",
            "deepEqual",
            "typeOf",
            "kindIs",
            "fail",
        )
    ],
    "{{ dict `a` 1 `b` }}|{{ dict 1 2 nil 3 true 4 }}|{{ dict `a` 1 `a` 2 }}|{{ dict (list 1) 2 }}|{{ dict 1.5 2 }}",
    "{{ $d := dict `a` 1 }}{{ $_ := set $d `b` 2 }}{{ $d }}{{ $_ := unset $d `a` }}{{ $d }}|{{ set $d `c` nil }}|{{ get $d `zzz` | quote }}|{{ get $d `c` }}",
    "{{ $_ := set .m `new` 1 }}{{ .m.new }}|{{ keys .m | sortAlpha }}",
    "{{ set .m 1 2 }}",
    "{{ set .m `a` }}",
    "{{ pick .m `a` `zzz` `c` }}|{{ omit .m `a` `zzz` }}|{{ pick .m }}|{{ omit .m }}|{{ pluck `a` }}|{{ pluck `a` .m (dict `a` 5) (dict) }}",
    "{{ pick .m 1 }}",
    "{{ omit .m .nil }}",
    "{{ pluck 1 .m }}",
    "{{ keys (dict `b` 1) (dict `a` 2) }}|{{ keys | len }}|{{ keys (dict `x` 1) | printf `%T` }}|{{ values (dict `a` 1) | printf `%T %v` }}|{{ keys .m | sortAlpha }}",
    "{{ dig `c` `d` `none` .m }}|{{ dig `zzz` `d` `none` .m }}|{{ dig `c` `zzz` 1 .m }}|{{ dig `a` nil .m }}|{{ dig `c` `d` .nil .m }}|{{ .m | dig `c` `d` `x` }}",
    "{{ dig `a` .m }}",
    "{{ dig `a` `b` `none` .m }}",
    "{{ dig `c` 1 `none` .m }}",
    "{{ dig nil `c` `none` .m }}",
    "{{ dig `c` `none` .l }}",
    "{{ dig `c` `none` nil }}",
    "{{ dig `_0` `none` (split `,` `a`) }}",
    "{{ dig `c` `d` `e` `none` .m }}",
    "{{ dig `x` `y` `none` (dict `x` nil) }}",
    "{{ $a := dict `x` (dict `y` 1) }}{{ $b := merge (dict) $a }}{{ $_ := set $b.x `z` 2 }}{{ $a }}{{ $b }}",
    "{{ $a := dict `x` (list 1 (dict `y` 1)) }}{{ $b := deepCopy $a }}{{ $_ := set $b `z` 2 }}{{ $a }}{{ $b }}|{{ deepCopy 1 }}{{ deepCopy `a` }}{{ deepCopy (until 2) | printf `%T` }}{{ deepCopy (splitList `,` `a,b`) }}{{ deepCopy true }}{{ deepCopy 1.5 }}",
    "{{ deepCopy nil }}",
    "{{ mustDeepCopy .nil }}",
    "{{ ternary 1 2 true }}|{{ ternary 1 2 false }}|{{ true | ternary `a` `b` }}|{{ ternary nil 2 true }}|{{ ternary .nil .l .fa }}",
    "{{ ternary 1 2 `x` }}",
    "{{ ternary 1 2 1 }}",
    "{{ ternary 1 2 nil }}",
    "{{ ternary 1 2 }}",
    "{{ coalesce 0 `` nil .none 5 6 }}|{{ coalesce }}|{{ all 1 `a` true }}|{{ all 1 0 }}|{{ any 0 `` 1 }}|{{ any 0 nil }}|{{ all }}|{{ any }}",
    "{{ default 1 }}|{{ default 1 0 5 }}|{{ default nil 0 }}|{{ default `x` nil }}|{{ .nil | default `d` }}|{{ .empty | default .nil }}",
    "{{ fail `stop here` }}",
    "{{ fail (printf `bad %d` 5) }}",
    "{{ fail 1 }}",
    "{{ fail .nil }}",
    "{{ fail `` }}",
    "{{ if .fa }}{{ fail `x` }}{{ end }}ok",
    "{{ typeOf 'a' }}|{{ typeOf (len `a`) }}|{{ kindOf (list) }}|{{ kindOf (dict) }}|{{ kindOf (add 1 1) }}|{{ kindOf (index `a` 0) }}|{{ typeOf (index `a` 0) }}|{{ typeIs 1 2 | not }}",
    "{{ typeIs 1 2 }}",
    "{{ kindIs nil 2 }}",
]
