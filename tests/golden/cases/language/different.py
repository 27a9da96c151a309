"""Where we differ on purpose."""

from tests.golden.case import Case

CASES = [
    "{{ range until 2 }}{{ .x }}{{ end }}",
    "{{ until 2 | printf `%T` }}",
    "{{ until 1 | printf `%#v` }}",
    Case(
        "{{ until (add 1 2) }}",
        ours="[0 1 2]",
        why="an int64 may be used where an int is declared; Go refuses it",
    ),
    Case(
        "{{ indent (add 1 1) `a` }}",
        ours="  a",
        why="an int64 may be used where an int is declared; Go refuses it",
    ),
]
