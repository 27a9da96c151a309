"""The functions of templates, by family, and the policies that choose among them.

Policy "sprig" has every name; "operator" is what operators may use: nothing that reaches the
environment, the file system or the network of the service that renders.

A family is imported when one of its functions is first looked up, since most templates call few of
them and all together take a third of the time of importing this package.
"""

import importlib
from collections.abc import Iterator, Mapping
from typing import Final, Literal

from gotemplate.golang import layouts
from gotemplate.types.signature import Function, from_callable

__all__ = ["CHANGING", "FAMILIES", "Function", "Policy", "from_callable", "preload", "table"]

Policy = Literal["operator", "sprig"]

FAMILIES: Final[Mapping[str, str]] = {
    "builtins": "and or call not len index print printf println html js urlquery eq ne lt le gt ge",
    "certs": (
        "genPrivateKey genCA genCAWithKey genSelfSignedCert genSelfSignedCertWithKey "
        "genSignedCert genSignedCertWithKey buildCustomCert"
    ),
    "dates": (
        "now date dateInZone date_in_zone htmlDate htmlDateInZone dateModify date_modify "
        "mustDateModify must_date_modify ago duration durationRound toDate mustToDate unixEpoch"
    ),
    "reflection": (
        "typeOf typeIs typeIsLike kindOf kindIs deepEqual default empty coalesce all any ternary "
        "fail"
    ),
    "dicts": (
        "dict get set unset hasKey pluck keys values pick omit dig deepCopy mustDeepCopy merge "
        "mustMerge mergeOverwrite mustMergeOverwrite"
    ),
    "encoding": (
        "b64enc b64dec b32enc b32dec sha1sum sha256sum sha512sum adler32sum urlParse urlJoin "
        "toJson mustToJson toPrettyJson mustToPrettyJson toRawJson mustToRawJson fromJson "
        "mustFromJson toYaml fromYaml"
    ),
    "floats": "addf add1f subf mulf divf maxf minf floor ceil round",
    "case": "upper lower title untitle swapcase initials nospace abbrev abbrevboth wrap wrapWith",
    "lists": (
        "list tuple concat toStrings join sortAlpha append mustAppend push mustPush prepend "
        "mustPrepend first mustFirst last mustLast rest mustRest initial mustInitial reverse "
        "mustReverse compact mustCompact uniq mustUniq without mustWithout has mustHas slice "
        "mustSlice chunk mustChunk"
    ),
    "numbers": (
        "int int64 float64 toDecimal atoi add add1 sub mul div mod max biggest min until "
        "untilStep seq randAlphaNum randAlpha randNumeric randAscii randBytes randInt shuffle "
        "uuidv4"
    ),
    "host": (
        "env expandenv getHostByName base osBase clean osClean dir osDir ext osExt isAbs osIsAbs"
    ),
    "passwords": "bcrypt htpasswd derivePassword encryptAES decryptAES",
    "patterns": (
        "regexMatch mustRegexMatch regexFind mustRegexFind regexFindAll mustRegexFindAll "
        "regexSplit mustRegexSplit regexReplaceAll mustRegexReplaceAll regexReplaceAllLiteral "
        "mustRegexReplaceAllLiteral regexQuoteMeta"
    ),
    "semvers": "semver semverCompare",
    "strings": (
        "trim trimall trimAll trimPrefix trimSuffix contains hasPrefix hasSuffix repeat replace "
        "trunc substr indent nindent quote squote cat plural hello toString splitList split "
        "splitn"
    ),
    "words": "snakecase kebabcase camelcase",
}
"""The names of the functions of each family, by its module in this package."""

# The family that the operator policy takes away.
_HOST: Final = "host"

# Libraries that functions import at their first call.
_LATE: Final = (
    "bcrypt",
    "cryptography.hazmat.backends.openssl.backend",
    "cryptography.hazmat.primitives.ciphers.modes",
    "gotemplate.golang.regex",
    "gotemplate.types.constraints",
    "gotemplate.types.certificates",
    "re2",
    "zoneinfo",
)

# Names that change the map they are given.
CHANGING: Final = frozenset(
    {"set", "unset", "merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite"}
)


class _Table(Mapping[str, Function]):
    """Functions by name, imported when they are looked up."""

    def __init__(self, families: Mapping[str, str]) -> None:
        self._families = {
            name: family for family, names in families.items() for name in names.split()
        }
        self._found: dict[str, Function] = {}

    def __getitem__(self, name: str) -> Function:
        if name not in self._found:
            family = importlib.import_module(f"{__name__}.{self._families[name]}")
            self._found |= {function.name: function for function in family.FUNCTIONS}
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._families)

    def __len__(self) -> int:
        return len(self._families)

    def __contains__(self, name: object) -> bool:
        return name in self._families


def table(policy: Policy) -> Mapping[str, Function]:
    """Return the functions of a policy by name."""
    if policy == "operator":
        return _Table({family: names for family, names in FAMILIES.items() if family != _HOST})
    return _Table(FAMILIES)


def preload() -> None:
    """Import every library and read the time zones, for a process that can open no files later."""
    for module in (*_LATE, *(f"{__name__}.{family}" for family in FAMILIES)):
        importlib.import_module(module)
    layouts.preload_zones()
