"""Keys of YAML mappings, which match whatever their case, as in Go."""

from collections.abc import Iterable, Mapping


def folded(values: Mapping[str, object]) -> dict[str, object]:
    """Return a mapping by keys in lower case; of equal ones the last in byte order counts."""
    return {key.casefold(): values[key] for key in sorted(values)}


def unknown(values: Mapping[str, object], known: Iterable[str]) -> dict[str, object]:
    """Return what stands under keys that are not known."""
    names = {name.casefold() for name in known}
    return {key: value for key, value in values.items() if key.casefold() not in names}
