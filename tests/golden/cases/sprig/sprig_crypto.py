# ruff: noqa: E501
"""Sprig's functions on keys, certificates, passwords and chance: what does not change, and errors."""

from tests.golden.case import Case

_KEYED = "{{ $k := genPrivateKey `ecdsa` }}"
_AES = (
    "",
    "a",
    "YQ==",
    "not base64",
    "AAAAAAAAAAAAAAAAAAAAAA==",
    "AAAAAAAAAAAAAAAAAAAAAAA=",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    "30tEfhuJSVRhpG97XCuWgz2okj7L8vQ1s6V9zVUPeDQ=",
    "AAAA",
    "AAAAAAAAAAAAAAAAAAA=",
)
_DERIVED = (
    "1 `long` `password` `user` `example.com`",
    "2 `long` `password` `user` `example.com`",
    "1 `maximum` `password` `user` `example.com`",
    "1 `medium` `password` `user` `example.com`",
    "1 `short` `password` `user` `example.com`",
    "1 `basic` `password` `user` `example.com`",
    "1 `pin` `password` `user` `example.com`",
    "1 `other` `password` `user` `example.com`",
    "1 `long` `` `` ``",
    "4294967296 `long` `p` `u` `s`",
    "1 `long` `pä☃` `üser` `s.é`",
    "-1 `long` `p` `u` `s`",
    "1.5 `long` `p` `u` `s`",
    "`1` `long` `p` `u` `s`",
    ".i `long` `p` `u` `s`",
    "1 2 `p` `u` `s`",
    "1 `long` `p` `u`",
    "1.0 `pin` `p` `u` `s`",
    "nil `pin` `p` `u` `s`",
    "true `pin` `p` `u` `s`",
    "'a' `pin` `p` `u` `s`",
)
_CERTS = (
    "genCA `n` `1`",
    "genCA `n`",
    "genCA 1 1",
    "genCAWithKey `n` 1 ``",
    "genCAWithKey `n` 1 `x`",
    "genSelfSignedCert `n` nil nil",
    "genSelfSignedCert `n` (list `x`) nil 1",
    "genSelfSignedCert `n` (list 1) nil 1",
    "genSelfSignedCert `n` nil (list 1) 1",
    "genSelfSignedCert `n` nil (list nil) 1",
    "genSelfSignedCert `n` `1.2.3.4` nil 1",
    "genSelfSignedCert `n` .none .none `x`",
    "genSelfSignedCert `n` (splitList `,` `1.2.3.4`) nil 1",
    "genSelfSignedCert `n` nil (list `ö`) 1",
    "genSignedCert `n` nil nil 1 .m",
    "genSignedCert `n` nil nil 1 nil",
    "genSignedCert `n` nil nil 1",
    "genSelfSignedCert `n` (list `1.2.3`) nil 1",
    "genSelfSignedCert `n` (list `1.2.3.04`) nil 1",
    "genSelfSignedCert `n` (list `::g`) nil 1",
    "genSelfSignedCert `n` (list ``) nil 1",
    "genSelfSignedCertWithKey `n` nil nil 1 `x`",
    "buildCustomCert `!` `!`",
    "buildCustomCert `YQ==` `!`",
    "buildCustomCert `YQ==` `YQ==`",
    "buildCustomCert 1 `a`",
    "buildCustomCert `a`",
    "genPrivateKey `x`",
    "genPrivateKey 1",
    "genPrivateKey",
    "genSignedCertWithKey `n` nil nil 1 .m `x`",
)
_PEM_KEYS = (
    ("EC", "-----BEGIN FOO-----\nAAAA\n-----END FOO-----\n"),
    ("FOO PRIVATE KEY", "-----BEGIN FOO PRIVATE KEY-----\nAAAA\n-----END FOO PRIVATE KEY-----\n"),
    ("PUBLIC KEY", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"),
    ("none", "-----BEGIN EC PRIVATE KEY-----\nAAAA\n"),
    ("bad base64", "-----BEGIN EC PRIVATE KEY-----\n!!!!\n-----END EC PRIVATE KEY-----\n"),
)

CASES = [
    *[f"{{{{ decryptAES `secret` `{text}` }}}}" for text in _AES],
    "{{ decryptAES 1 `a` }}",
    "{{ encryptAES 1 `a` }}",
    "{{ encryptAES `a` }}",
    "{{ encryptAES `p` `` }}|{{ decryptAES `p` `` }}|{{ encryptAES `secret` `plain text` | decryptAES `secret` }}|{{ encryptAES `` `größe` | decryptAES `` }}|{{ len (encryptAES `p` `0123456789abcdef`) }}|{{ encryptAES `a very long password of more than thirty-two bytes` `x` | decryptAES `a very long password of more than thirty-two bytes!` }}",
    *[f"{{{{ derivePassword {args} }}}}" for args in _DERIVED],
    *[f"{{{{ {call} }}}}" for call in _CERTS],
    *[f"{{{{ genCAWithKey `n` 1 {pem!r} }}}}".replace("'", '"') for _, pem in _PEM_KEYS],
    "{{ substr 0 7 (bcrypt `x`) }}|{{ len (bcrypt `x`) }}|{{ len (bcrypt ``) }}|{{ substr 0 12 (htpasswd `user` `x`) }}|{{ htpasswd `us:er` `x` }}|{{ htpasswd `` `x` | len }}",
    "{{ bcrypt (repeat 72 `x`) | len }}|{{ bcrypt (repeat 73 `x`) }}|{{ htpasswd `u` (repeat 73 `x`) }}|{{ bcrypt (repeat 37 `ö`) }}",
    "{{ bcrypt 1 }}",
    "{{ htpasswd `a` }}",
    "{{ htpasswd 1 `a` }}",
    '{{ range list `ecdsa` `dsa` }}{{ $k := genPrivateKey . }}{{ $k | splitList "\\n" | first }}|{{ hasSuffix "PRIVATE KEY-----\\n" $k }}|{{ end }}{{ genPrivateKey `foo` }}',
    Case(
        '{{ genPrivateKey `ed25519` | splitList "\\n" | first }}',
        ours="-----BEGIN PRIVATE KEY-----",
        why="Sprig 2.22 has no keys of this kind",
    ),
    '{{ $c := genCA `ca` 365 }}{{ $c.Cert | splitList "\\n" | first }}|{{ $c.Key | splitList "\\n" | first }}|{{ typeOf $c }}|{{ kindOf $c }}|{{ if $c }}y{{ end }}|{{ empty $c }}|{{ eq $c.Cert "" }}|{{ deepEqual $c $c }}|{{ toJson $c | fromJson | keys | sortAlpha }}|{{ eq (print $c) (printf `{%s %s}` $c.Cert $c.Key) }}',
    '{{ $c := genCA `ca` 365 }}{{ $s := genSignedCert `n` (list `1.2.3.4` `::1`) (list `a.b` `*.c`) 30 $c }}{{ $s.Cert | splitList "\\n" | first }}|{{ $s.Key | splitList "\\n" | first }}|{{ with buildCustomCert ($s.Cert | b64enc) ($s.Key | b64enc) }}{{ eq .Cert $s.Cert }}{{ eq .Key $s.Key }}{{ end }}',
    _KEYED
    + "{{ $c := genCAWithKey `ca` 1 $k }}{{ eq $c.Key $k }}|{{ $s := genSelfSignedCertWithKey `n` nil nil 1 $k }}{{ eq $s.Key $k }}|{{ $t := genSignedCertWithKey `n` nil nil 1 $c $k }}{{ eq $t.Key $k }}|{{ hasPrefix `-----BEGIN CERTIFICATE-----` $t.Cert }}",
    "{{ $c := genSelfSignedCert `n` nil nil 1 }}{{ $c.Nope }}",
    "{{ $c := genSelfSignedCert `` nil (list `h`) 0 }}{{ $c.cert }}",
    "{{ $c := genSelfSignedCert `n` nil nil 1 }}{{ $c.Cert 1 }}",
    "{{ $c := genSelfSignedCert `n` nil nil 1 }}{{ upper $c }}",
    "{{ $k := genPrivateKey `dsa` }}{{ genCAWithKey `n` 1 $k }}",
    Case(
        "{{ $k := genPrivateKey `ecdsa` | b64enc }}{{ buildCustomCert $k $k | kindOf }}",
        ours_error='template: sprig_crypto:1:45: executing "sprig_crypto" at <buildCustomCert $k $k>: error calling buildCustomCert: error parsing certificate: decodedCert.Bytes: x509: malformed certificate',
        why="what is wrong inside of a certificate is not said",
    ),
    *[
        f"{{{{ len ({name} {count}) }}}}"
        for name in ("randAlpha", "randAlphaNum", "randNumeric", "randAscii", "randBytes")
        for count in (0, 1, 5, 50)
    ],
    *[
        f"{{{{ {name} {count} | quote }}}}"
        for name in ("randAlpha", "randAlphaNum", "randNumeric", "randAscii")
        for count in (-1, 0)
    ],
    *[
        f"{{{{ {name} `1` }}}}"
        for name in ("randAlpha", "randNumeric", "randAscii", "randBytes", "uuidv4")
    ],
    "{{ randBytes -1 }}",
    "{{ regexMatch `^[a-zA-Z]{20}$` (randAlpha 20) }}|{{ regexMatch `^[0-9]{20}$` (randNumeric 20) }}|{{ regexMatch `^[0-9a-zA-Z]{20}$` (randAlphaNum 20) }}|{{ regexMatch `^[ -~]{20}$` (randAscii 20) }}|{{ b64dec (randBytes 9) | len }}",
    "{{ regexMatch `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$` uuidv4 }}|{{ ne uuidv4 uuidv4 }}",
    "{{ shuffle `` }}|{{ shuffle `aaa` }}|{{ shuffle `abc` | splitList `` | sortAlpha }}|{{ shuffle `ä☃` | len }}",
    "{{ shuffle 1 }}",
    "{{ shuffle }}",
    "{{ range until 20 }}{{ $n := randInt 3 6 }}{{ if or (lt $n 3) (gt $n 5) }}bad{{ end }}{{ end }}ok",
]
