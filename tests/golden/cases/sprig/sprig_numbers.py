# ruff: noqa: E501
"""Sprig's arithmetic and conversions."""

_VALUES = (
    ".i",
    ".neg",
    ".zero",
    ".f",
    ".million",
    ".tiny",
    ".max",
    ".min",
    ".t",
    ".fa",
    ".nil",
    "nil",
    ".s",
    ".empty",
    ".l",
    ".m",
    "`12`",
    "`-12`",
    "`+3`",
    "` 3`",
    "`3.7`",
    "`1e3`",
    "`9223372036854775807`",
    "`9223372036854775808`",
    "`-9223372036854775808`",
    "`99999999999999999999999`",
    "1e300",
    "-2.5",
    "2.5",
    "0.5",
    "-0.5",
    "1.005",
    "123.555555",
    "'a'",
    "1e18",
    "`Inf`",
    "`-inf`",
    "`nan`",
    "`0x1p4`",
    "`.5`",
    "`5.`",
    "`1_0.5`",
    "`-0`",
    "`-0.0`",
    "`infinity`",
    "`1e400`",
    "(add 1 2)",
    "(until 2)",
)
_CONVERT = ("int", "int64", "float64", "toDecimal", "add1", "floor", "ceil", "round", "toString")
_PAIRS = (
    ("7", "2"),
    ("-7", "2"),
    ("7", "-2"),
    ("-7", "-2"),
    ("`7`", "2.9"),
    ("7", "0"),
    ("0", "7"),
    ("7", "`x`"),
    ("7", "nil"),
    (".max", "1"),
    (".min", "-1"),
    (".max", "2"),
    (".min", "1"),
    ("1.5", "2"),
    (".max", ".max"),
    (".min", ".min"),
    ("true", "1"),
)
_FLOAT_PAIRS = (
    ("0.1", "0.2"),
    ("1", "3"),
    ("-1", "3"),
    ("2", "3"),
    ("10", "4"),
    ("1.5", "`2.5`"),
    ("1e308", "10"),
    ("1e-308", "1e-10"),
    ("5", "0"),
    ("nil", "1"),
    ("`x`", "2"),
    ("1e21", "1"),
    ("3", "true"),
)

CASES = [
    *[
        f"{{{{ {name} {value}{' 1' if name == 'round' else ''} }}}}"
        for name in _CONVERT
        for value in _VALUES
    ],
    *[
        f"{{{{ {name} {one} {two} }}}}"
        for name in ("add", "sub", "mul", "div", "mod", "max", "min", "biggest")
        for one, two in _PAIRS
    ],
    *[
        f"{{{{ {name} {one} {two} }}}}"
        for name in ("addf", "subf", "mulf", "divf", "maxf", "minf")
        for one, two in _FLOAT_PAIRS
    ],
    *[
        f"{{{{ {name} 1 2 3 4 }}}}"
        for name in (
            "add",
            "mul",
            "max",
            "min",
            "biggest",
            "addf",
            "subf",
            "mulf",
            "divf",
            "maxf",
            "minf",
        )
    ],
    *[
        f"{{{{ {name} }}}}"
        for name in (
            "add",
            "addf",
            "sub",
            "mul",
            "div",
            "max",
            "subf",
            "maxf",
            "int",
            "round",
            "floor",
            "seq",
            "add1f",
            "add1",
            "until",
        )
    ],
    *[
        f"{{{{ {name} 5 }}}}"
        for name in (
            "add",
            "addf",
            "sub",
            "mul",
            "div",
            "max",
            "subf",
            "mulf",
            "divf",
            "maxf",
            "minf",
            "add1f",
            "min",
            "mod",
        )
    ],
    *[f"{{{{ add1f {value} }}}}" for value in ("0.1", "`2.5`", "nil", ".l", "-1", "1e300", ".max")],
    *[
        f"{{{{ printf `%T` ({call}) }}}}"
        for call in (
            "int `1`",
            "int64 1",
            "float64 1",
            "add 1 2",
            "add1 1",
            "addf 1 2",
            "round 1.5 0",
            "floor 1.5",
            "toDecimal `7`",
            "atoi `1`",
            "until 2",
            "max 1 2",
            "maxf 1 2",
            "seq 2",
            "len `a`",
        )
    ],
    *[
        f"{{{{ round {value} {places} }}}}"
        for value in ("123.5555", "-2.5", "2.5", "1.005", "-1.5", "1e300", "`7.77`", "0.0")
        for places in (0, 1, 2, 3, -1, -3, 400, -400)
    ],
    "{{ round 123.5555 3 0.6 }}|{{ round 2.3 0 0.2 }}|{{ round 2.3 0 0.3 0.9 }}",
    "{{ round 1.5 `0` }}",
    "{{ round 1.5 0 1 }}",
    "{{ round 1.5 0 .i }}",
    "{{ round 1.5 0 `x` }}",
    "{{ round 1.5 1.0 }}",
    "{{ round 1.5 .f }}",
    *[
        f"{{{{ atoi {value} }}}}"
        for value in (
            "`12`",
            "`-12`",
            "`+7`",
            "`x`",
            "``",
            "` 1`",
            "`0x10`",
            "`08`",
            "`1_0`",
            "`9223372036854775808`",
            "`-9223372036854775809`",
            "`99999999999999999999999999`",
            "12",
            ".nil",
            ".i",
        )
    ],
    *[
        f"{{{{ toDecimal {value} }}}}"
        for value in (
            "`777`",
            "777",
            "`0644`",
            "`8`",
            "`-7`",
            "`+7`",
            "``",
            "7.0",
            "true",
            "`1000000000000000000000`",
            "`777777777777777777777`",
            "nil",
            "`0o17`",
            "`1_0`",
        )
    ],
    *[
        f"{{{{ seq {bounds} }}}}"
        for bounds in (
            "5",
            "-3",
            "0",
            "1",
            "2 5",
            "5 2",
            "0 2 10",
            "10 -2 0",
            "0 -1 5",
            "5 1 0",
            "1 2 3 4",
            "3 3",
            "1 1 1",
            "0 3 10",
            "-5 5 5",
            "1 0 5",
            "5 0 1",
            "5 -1 5",
        )
    ],
    "{{ seq `1` }}",
    "{{ seq 1.5 }}",
    "{{ range $i, $n := until 3 }}{{ $i }}{{ $n }},{{ end }}|{{ until 0 | len }}|{{ until -3 }}|{{ untilStep 3 6 2 }}|{{ untilStep 6 3 -2 }}|{{ untilStep 3 6 -1 }}|{{ untilStep 3 3 1 }}|{{ untilStep 3 6 0 }}|{{ untilStep 6 3 0 }}",
    "{{ until `3` }}",
    "{{ until 1.5 }}",
    "{{ untilStep 1 2 }}",
    "{{ randInt 5 5 }}",
    "{{ randInt 5 4 }}",
    "{{ randInt 5 6 }}|{{ printf `%T` (randInt 1 2) }}",
    "{{ randInt `1` 2 }}",
    "{{ maxf `nan` 1 }}|{{ minf 1 `nan` }}|{{ maxf `nan` `inf` }}|{{ minf `nan` `-inf` }}|{{ maxf -0.0 0.0 }}|{{ minf 0.0 -0.0 }}|{{ maxf }}",
    "{{ addf `inf` 1 }}",
    "{{ mulf `nan` 1 }}",
    "{{ divf 1 3 7 }}|{{ divf 22 7 }}|{{ divf 1 1e-300 }}|{{ divf 1e-300 1e300 }}|{{ mulf 1e300 1e300 }}|{{ subf 1 0.9 }}|{{ addf 1 `x` true nil }}|{{ mulf -1e300 1e300 }}",
]
