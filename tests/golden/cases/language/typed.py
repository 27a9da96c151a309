"""Values that have a type of their own in Go: lists of texts and integers, maps of texts."""

from tests.golden.case import Case

_VALUES = (
    "(until 2)",
    "(splitList `,` `a,b`)",
    "(split `,` `a,b`)",
    "(add 1 2)",
    "(index .s 0)",
    "(chunk 2 .nums)",
    "(list 1 `a`)",
    "(dict `a` 1)",
)
_MISSING = (
    "{{ (split `,` `a,b`)._9 }}",
    "{{ (split `,` `a,b`)._9.x }}",
    "{{ index (split `,` `a,b`) `_9` }}",
    "{{ index (split `,` `a,b`) `_9` | printf `%q` }}",
    "{{ (dict `a` 1).b }}",
    "{{ with split `,` `a,b` }}{{ .x }}{{ end }}",
    "{{ range list (split `,` `a,b`) }}{{ .x }}|{{ ._0 }}{{ end }}",
    "{{ $x := split `,` `a` }}{{ $x.b | len }}",
)

CASES = [
    *[f'{{{{ printf "%T %v %#v" {value} {value} {value} }}}}' for value in _VALUES],
    *[f"{{{{ {value} }}}}" for value in _VALUES],
    *[f"{{{{ {value[:-1]}).x }}}}" for value in _VALUES],
    *[f"{{{{ len {value} }}}}" for value in _VALUES],
    *[f"{{{{ eq {value} nil }}}}" for value in _VALUES],
    *[f"{{{{ eq {value} 1 }}}}" for value in _VALUES],
    *[f"{{{{ lt {value} 200 }}}}" for value in _VALUES],
    *[f"{{{{ index {value} 1 }}}}" for value in _VALUES],
    *[f"{{{{ index {value} `_1` }}}}" for value in _VALUES],
    *[f"{{{{ slice {value} 0 1 }}}}" for value in _VALUES],
    *[f"{{{{ range {value} }}}}{{{{ . }}}},{{{{ end }}}}" for value in _VALUES],
    *[f"{{{{ range {value} }}}}{{{{ .x }}}}{{{{ end }}}}" for value in _VALUES],
    *[
        f"{{{{ range $k, $v := {value} }}}}{{{{ $k }}}}={{{{ $v.x }}}}{{{{ end }}}}"
        for value in _VALUES
    ],
    *[f"{{{{ $x := {value} }}}}{{{{ $x.y }}}}" for value in _VALUES],
    *[f"{{{{ if {value} }}}}y{{{{ end }}}}{{{{ not {value} }}}}" for value in _VALUES],
    *[f"{{{{ print {value} `-` {value} }}}}" for value in _VALUES],
    *[
        f"{{{{ html {value} }}}}|{{{{ js {value} }}}}|{{{{ urlquery {value} }}}}"
        for value in _VALUES
    ],
    *[f"{{{{ toYaml {value} }}}}|{{{{ toJson {value} }}}}" for value in _VALUES],
    *[
        f"{{{{ define `d` }}}}{{{{ .x }}}}{{{{ end }}}}{{{{ template `d` {value} }}}}"
        for value in _VALUES
    ],
    *[f"{{{{ set {value} `a` 1 }}}}" for value in _VALUES],
    *[f"{{{{ upper {value} }}}}" for value in _VALUES],
    *[
        Case(text, missing_key=option)
        for text in _MISSING
        for option in ("error", "zero", "default")
    ],
]
