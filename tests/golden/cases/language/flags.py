# ruff: noqa: SIM905
"""printf: every flag with every verb, in widths and precisions, and values inside values."""

_FLAGS = "%+,%#,%-,%0,%+#,%0+,%8,%-8,%08,%.3,%8.3,%-8.3,%+08.2,%#8,% ,% #,% 08".split(",")
_VERBS = "v d s q x X o b c U e f g t T".split()
_VALUES = ".i .neg .s .uni .f .million .t .nil .l .mixed .m".split()
_INNER = "%+v %#v %d %s %q %x %X %6d %-4s %.1f %5t %+q %T %c %e %08b".split(" ")

CASES = [
    *[
        "".join(f'{{{{ printf "{flag}{verb}" {value} }}}}|' for value in _VALUES)
        for flag in _FLAGS
        for verb in _VERBS
    ],
    *[
        f'{{{{ printf "{verb}" {value} }}}}'
        for verb in _INNER
        for value in (
            ".mixed",
            "(until 3)",
            "(list .m .l nil)",
            "(list 1.5 true `é` (list))",
            ".none",
            ".nomap",
            "(add 1 2)",
            "(index .s 0)",
            "(list (index .s 0) (add 1 2) (until 2))",
        )
    ],
]
