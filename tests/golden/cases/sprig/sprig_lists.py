# ruff: noqa: E501
"""Sprig's functions on lists."""

_LISTS = (
    ".l",
    ".nums",
    ".mixed",
    ".none",
    ".nil",
    "nil",
    ".s",
    ".i",
    ".m",
    ".t",
    ".f",
    "(until 3)",
    "(splitList `,` `a,b,a`)",
    "(list)",
    "(list 1)",
    "(list nil)",
    "(list 1 1.0 `1` 1 nil nil)",
    "(chunk 2 .l)",
    "(add 1 2)",
    "(dict)",
    "(tuple 1 2)",
)
_PLAIN = ("first", "last", "rest", "initial", "reverse", "compact", "uniq")


def _both(name: str) -> tuple[str, str]:
    return name, f"must{name[0].upper()}{name[1:]}"


CASES = [
    *[f"{{{{ {name} {items} }}}}" for plain in _PLAIN for name in _both(plain) for items in _LISTS],
    *[
        f"{{{{ {name} {items} `x` }}}}"
        for plain in ("append", "push", "prepend", "without")
        for name in _both(plain)
        for items in _LISTS
    ],
    *[f"{{{{ {name} `a` {items} }}}}" for name in _both("has") for items in _LISTS],
    *[f"{{{{ {name} 2 {items} }}}}" for name in _both("chunk") for items in _LISTS],
    *[f"{{{{ {name} {items} 1 }}}}" for name in _both("slice") for items in _LISTS],
    *[f"{{{{ concat {items} (list `x`) }}}}" for items in _LISTS],
    *[
        f"{{{{ {name} }}}}"
        for name in (
            "first",
            "append",
            "has",
            "slice",
            "chunk",
            "without",
            "concat",
            "list",
            "tuple",
            "compact",
        )
    ],
    *[
        f"{{{{ slice .l {bounds} }}}}"
        for bounds in (
            "",
            "0",
            "1",
            "3",
            "0 2",
            "1 1",
            "2 1",
            "-1",
            "0 9",
            "`1`",
            "nil",
            "0 nil",
            "1.9",
            "0 1 2",
            "true 2",
        )
    ],
    *[
        f"{{{{ chunk {size} {items} }}}}"
        for size in (-9, -3, -1, 0, 1, 2, 3, 9)
        for items in (".l", ".none", "(list 1)", "(until 4)")
    ],
    "{{ chunk `2` .l }}",
    "{{ chunk 2 }}",
    "{{ printf `%T %T %T %T` (chunk 1 .l) (rest .l) (slice (until 3) 1) (slice (splitList `,` `a,b`) 1) }}|{{ printf `%T %T` (concat .l) (uniq .nums) }}|{{ printf `%T` (slice (chunk 1 .l) 1) }}",
    "{{ range chunk 2 .l }}{{ join `-` . }};{{ end }}|{{ index (chunk 2 .l) 0 1 }}|{{ first (chunk 2 .l) | last }}",
    "{{ list 1 `a` nil true 1.5 (list) (dict) }}|{{ tuple 1 2 | printf `%T %v` }}|{{ list nil | printf `%#v` }}",
    "{{ append .l nil }}|{{ prepend .l (list 1) }}|{{ append (until 2) `x` }}|{{ .l | append }}",
    "{{ $l := list 1 2 }}{{ $m := append $l 3 }}{{ $l }}{{ $m }}",
    "{{ without .l `a` `c` }}|{{ without .nums 1 2 }}|{{ without (list 1 1.0 `1`) 1 }}|{{ without .mixed nil (list `x`) }}|{{ without .mixed (dict `k` `v`) }}|{{ without .l }}",
    "{{ uniq (list (list 1) (list 1) (dict `a` 1) (dict `a` 1) (list 1.0)) }}|{{ uniq (list `a` `b` `a` `c` `b`) }}|{{ uniq (list (float64 `nan`) (float64 `nan`)) }}|{{ uniq (list (int64 1) 1) }}",
    "{{ has 1 .nums }}|{{ has 1.0 .nums }}|{{ has nil .mixed }}|{{ has (list `x`) .mixed }}|{{ has (dict `k` `v`) .mixed }}|{{ has `1` .nums }}|{{ has (add 1 0) .nums }}|{{ has 2 (until 3) }}|{{ has true .mixed }}",
    "{{ concat .l .nums (list nil) (until 2) }}|{{ concat }}|{{ concat .none }}|{{ .l | concat .nums }}",
    "{{ concat .l nil }}",
    "{{ concat nil .l }}",
    "{{ concat `a` nil }}",
    "{{ concat .l .m }}",
    "{{ compact (list 0 1 `` `a` false true nil (list) (dict) 0.0 (list 0)) }}",
    "{{ toJson (concat (list) (list)) }}|{{ toJson (rest (list 1)) }}|{{ toJson (compact (list 0)) }}|{{ toJson (uniq (list)) }}|{{ toJson (list) }}|{{ toJson (initial (list 1)) }}",
    "{{ reverse .l }}|{{ .l }}|{{ first .l }}|{{ last .l }}|{{ rest .l }}|{{ initial .l }}",
    "{{ range $i, $e := reverse .l }}{{ $i }}{{ $e }}{{ end }}",
]
