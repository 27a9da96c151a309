# ruff: noqa: E501
"""Sprig's functions on texts: ends, parts, repetition, splitting, quoting."""

_TEXTS = (".s", ".empty", ".uni", ".nl", "`  two words `")

_ONE = ("trim", "toString", "quote", "squote", "cat", "initials", "nospace", "hello")
_PREFIXED = ("trimAll `te`", "trimall `te`", "trimPrefix `te`", "trimSuffix `xt`", "contains `x`")
_ENDS = ("hasPrefix `te`", "hasSuffix `xt`", "contains ``", "hasPrefix ``", "trimAll ``")
_WRONG = (".i", ".nil", "nil", ".l", "1", "true", ".m", "(list)", ".zzz")

CASES = [
    *[f"{{{{ {name} {text} }}}}" for name in _ONE for text in _TEXTS if name != "hello"],
    *[f"{{{{ {name} {text} }}}}" for name in (*_PREFIXED, *_ENDS) for text in _TEXTS],
    *[f"{{{{ {name} {value} }}}}" for name in ("trim", "initials", "nospace") for value in _WRONG],
    *[
        f"{{{{ {name} {value} }}}}"
        for name in ("toString", "quote", "squote", "cat")
        for value in (*_WRONG, ".f", ".mixed", ".million", "(add 1 2)", "(splitList `,` `a,b`)")
    ],
    "{{ hello }}",
    "{{ hello 1 }}",
    "{{ repeat 3 `ab` }}|{{ repeat 0 `ab` }}|{{ `-` | repeat 5 }}",
    "{{ repeat -1 `a` }}",
    "{{ repeat `3` `a` }}",
    "{{ repeat 3 .i }}",
    "{{ repeat 3 }}",
    "{{ repeat .nil `a` }}",
    "{{ replace `a` `b` `banana` }}|{{ replace `` `-` `abc` }}|{{ replace `x` `` `xyx` }}|{{ `a b` | replace ` ` `_` }}",
    "{{ replace `ö` `oe` .uni }}|{{ replace `` `.` `ö☃` }}|{{ replace `aa` `b` `aaaaa` }}",
    "{{ replace 1 `b` `c` }}",
    "{{ replace `a` `b` }}",
    "{{ trunc 3 `abcdef` }}|{{ trunc 0 `abc` }}|{{ trunc 9 `abc` }}|{{ trunc 3 `` }}",
    "{{ trunc -3 `abcdef` }}|{{ trunc -9 `abc` }}|{{ trunc -3 `abc` }}|{{ trunc -2 `` }}",
    "{{ trunc 3 .uni | printf `%q` }}|{{ trunc -4 .uni | printf `%q` }}",
    "{{ trunc 3.0 `abcdef` }}",
    "{{ trunc 3.5 `abcdef` }}",
    "{{ trunc `3` `abcdef` }}",
    "{{ trunc .f `abcdef` }}",
    "{{ substr 1 3 `abcdef` }}|{{ substr 0 -1 `abc` }}|{{ substr -1 2 `abc` }}|{{ substr 2 99 `abc` }}",
    "{{ substr 1 3 .uni | printf `%q` }}|{{ substr 3 3 `abc` }}|{{ substr 0 0 `abc` }}",
    "{{ substr 4 5 `abc` }}",
    "{{ substr 3 2 `abcdef` }}",
    "{{ substr -1 9 `abc` }}",
    "{{ substr -1 -2 `abc` }}",
    "{{ substr 9 -1 `abc` }}",
    "{{ substr 1 2 }}",
    "{{ plural `one` `many` 1 }}|{{ plural `one` `many` 0 }}|{{ len .l | plural `one` `many` }}|{{ plural `one` `many` -1 }}",
    "{{ plural `one` `many` `1` }}",
    "{{ plural 1 `many` 1 }}",
    "{{ quote 1 nil `a` true 1.5 }}|{{ quote }}|{{ squote }}|{{ cat }}|{{ squote 1 nil `a` true 1.5 }}",
    '{{ quote "a\\"b\\n\\t\\x00\\xff☃" }}|{{ squote "it\'s" }}|{{ quote .uni }}',
    "{{ cat `a` nil `b ` 1 .l .m }}|{{ cat ` a ` }}|{{ cat nil }}|{{ cat `%v` `%d` }}",
    "{{ cat `a` .nil .f | quote }}",
    "{{ indent 2 .nl | quote }}|{{ nindent 2 .nl | quote }}",
    "{{ splitList `,` `a,b,,c` }}|{{ splitList `,` `` | len }}|{{ splitList `` `aö☃` }}|{{ splitList `` `` | len }}",
    "{{ splitList `, ` `a, b` | printf `%q %T` }}|{{ splitList `x` `abc` | first }}|{{ range splitList `.` `a.b` }}[{{ . }}]{{ end }}",
    "{{ splitList 1 `a` }}",
    "{{ splitList `,` .l }}",
    "{{ $p := split `$` `a$b$c` }}{{ $p._0 }}{{ $p._1 }}{{ $p._2 }}|{{ len $p }}|{{ $p }}|{{ printf `%T` $p }}",
    "{{ (split `,` `a,b`)._5 }}",
    "{{ index (split `,` `a,b`) `_5` | quote }}|{{ index (split `,` `a,b`) `_1` }}",
    "{{ split `` `aö` }}|{{ split `,` `` }}|{{ range $k, $v := split `,` `b,a` }}{{ $k }}={{ $v }};{{ end }}",
    "{{ split `,` }}",
    "{{ split `,` 1 }}",
    "{{ splitn `,` 2 `a,b,c` }}|{{ splitn `,` 0 `a,b` }}|{{ splitn `,` -1 `a,b,c` }}|{{ splitn `,` 9 `a,b` }}|{{ splitn `` 2 `aöb` }}|{{ splitn `` 9 `ab` }}|{{ splitn `,` 1 `a,b` }}",
    "{{ splitn `,` `2` `a,b` }}",
    "{{ splitn `,` 2 }}",
    '{{ trimAll "äö" "äxö" }}|{{ trimPrefix "$" "$5" }}|{{ "$5.00$" | trimAll "$" }}|{{ trimSuffix "x" "axx" }}',
    "{{ trimAll 1 `a` }}",
    "{{ trimPrefix `a` nil }}",
    "{{ contains .nil `a` }}",
    "{{ hasPrefix .i `a` }}",
    "{{ hasSuffix `a` .l }}",
    '{{ initials "Jane Doe-Smith  x" }}|{{ initials "ö ä" | printf "%q" }}|{{ nospace "a b\\tc\\n" }}|{{ nospace "ö ä" | printf "%q" }}|{{ nospace "öä" }}|{{ initials "à la" | printf "%q" }}',
    '{{ nospace "a\\u00a0b" | printf "%q" }}|{{ nospace "a\\u2003b" | printf "%q" }}',
    "{{ join `-` .l }}|{{ join `-` .nums }}|{{ join `,` .mixed }}|{{ join `-` `abc` }}|{{ join `-` .i }}|{{ join `-` nil }}|{{ join `, ` (until 3) }}|{{ join `` .none }}|{{ .l | join `` }}",
    "{{ join 1 .l }}",
    "{{ join `-` }}",
    "{{ join `-` .m }}",
    "{{ toStrings .nums }}|{{ toStrings .mixed | printf `%q` }}|{{ toStrings `a` | printf `%q %T` }}|{{ toStrings nil | printf `%q` }}|{{ toStrings .m | len }}|{{ toStrings 1.5 }}",
    "{{ sortAlpha (list `b` `a` `C` `ä` 2 10 nil) }}|{{ sortAlpha .nums }}|{{ sortAlpha `x` }}|{{ sortAlpha nil }}|{{ sortAlpha 3 | printf `%T %q` }}|{{ sortAlpha .none | len }}|{{ sortAlpha .m }}",
    "{{ sortAlpha }}",
    "{{ sortAlpha (splitList `,` `b,a`) }}|{{ sortAlpha (list true nil 1.5 `x`) }}",
]
