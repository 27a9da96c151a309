# ruff: noqa: E501, RUF001
"""Sprig's changes of case, shortening and wrapping of texts."""

_WORDS = (
    "FirstName",
    "HTTPServer",
    "NoHTTPS",
    "GO_PATH",
    "GO PATH",
    "GO-PATH",
    "http2xx",
    "HTTP20xOK",
    "Duration2m3s",
    "Bld4Floor3rd",
    "",
    "a",
    "A",
    "_",
    "__",
    "-a",
    "a-",
    "_complex__case_",
    "some words",
    "GOLANG_IS_GREAT",
    "  x y  ",
    "1a",
    "a1",
    "1",
    "12 34",
    "a.b.c",
    "a..b",
    "ABc",
    "AB1c",
    "A1B2",
    "ÄÖü größe",
    "日本 語x",
    "x☃y",
    "getHTTPResponseCode",
    "ID",
    "userID2",
    "v1alpha1",
    ".2._ a",
    "x!-y",
    "b!_b ",
    "b.-_.2.",
    "a._-! b",
    "v1.2.3-rc",
    "camelCase",
    "snake_case",
    "kebab-case",
    "Title Case Words",
    "x1y2z",
    "99bottles",
    "node-1-a",
    "1a -b2 3_",
    "1-",
    "A",
    "aB",
    "ABC",
    "ABCd",
    "a_B",
    "X509Cert",
    "3D",
    "ǅx",
    "!a?b",
    "a!1",
    "1!a",
    "1_a",
    "a1_",
    "a 1 b",
    "A-1",
    "a1 ",
)
_CASES = ("lower", "upper", "title", "untitle", "swapcase", "snakecase", "kebabcase")
_LONG = "the quick brown fox jumps over the lazy dog"


CASES = [
    *[f"{{{{ {name} `{word}` }}}}" for name in ("snakecase", "kebabcase") for word in _WORDS],
    *[f"{{{{ {name} `{word}` }}}}" for name in _CASES[:5] for word in _WORDS[9:40:2]],
    *[
        f"{{{{ {name} {value} }}}}"
        for name in (*_CASES, "camelcase")
        for value in (".i", ".nil", "nil", ".l", "")
    ],
    *[
        f"{{{{ camelcase `{word}` }}}}"
        for word in (
            "some_words",
            "HTTPServer",
            "GO_PATH",
            "no-https x",
            "_complex__case_",
            "v1.2 ß",
            "a",
        )
    ],
    "{{ camelcase `` }}|{{ camelcase `_` }}|{{ camelcase `- _` }}",
    '{{ title "hello wORLD foo-bar it\'s a_b x\\u00a0y 1st ǆ ß ñ" }}|{{ untitle "Hello World  ÄB" }}|{{ swapcase "Hello World ǅ ß x\\tY" }}',
    '{{ title "\\xffabc" | printf "%q" }}|{{ untitle "\\xffAbc" | printf "%q" }}|{{ swapcase "\\xffAbc" | printf "%q" }}',
    '{{ upper "ß ŉ ǆ ᾳ ı ÿ ﬀ" }}|{{ lower "İ Σ ΑΣ ẞ K Å" }}|{{ title "ﬀa ŉb ΐc" }}',
    *[f"{{{{ abbrev {width} `{_LONG}` }}}}" for width in (-1, 0, 3, 4, 5, 10, 43, 44, 99)],
    "{{ abbrev 5 `` }}|{{ abbrev 5 .uni | printf `%q` }}|{{ abbrev 5 `abcde` }}|{{ abbrev 5 `abcdef` }}",
    "{{ abbrev `5` `a` }}",
    "{{ abbrev 5 }}",
    *[
        f"{{{{ abbrevboth {left} {width} `{_LONG}` }}}}"
        for left in (-3, 0, 4, 5, 10, 30, 39, 99)
        for width in (3, 4, 6, 7, 10, 20, 50)
    ],
    "{{ abbrevboth 5 10 .uni | printf `%q` }}|{{ abbrevboth 1 2 `` }}",
    "{{ abbrevboth 5 `abc` }}",
    *[f"{{{{ wrap {width} `{_LONG}` | quote }}}}" for width in (-1, 0, 1, 5, 9, 10, 20, 43, 100)],
    *[f"{{{{ wrapWith {width} `|` `{_LONG}` }}}}" for width in (-1, 0, 1, 3, 5, 10, 100)],
    "{{ wrap 5 `` }}|{{ wrap 5 `   a  b   c    d ` | quote }}|{{ wrap 4 `abcdefgh ij klmnopqr` | quote }}|{{ wrap 4 .uni | printf `%q` }}",
    "{{ wrapWith 5 `` `hello world foo` | quote }}|{{ wrapWith 3 `--` `abcdefgh` }}|{{ wrapWith 5 `\n` .uni | printf `%q` }}|{{ wrapWith 2 `,` ` a b  ccc d` }}",
    "{{ wrap `5` `a` }}",
    "{{ wrapWith 5 `a` }}",
]
