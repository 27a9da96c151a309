"""Sprig's merging of maps, by the rules of mergo.

The first map is changed. A key it lacks, or whose value is empty, gets the value of the other
map; two maps under one key are merged in turn; every other value stays, or, when overwriting, is
replaced, by an empty one too.
"""

from typing import Final

from gotemplate.golang.values import Kind, kind_of, truth
from gotemplate.limits import Rendering
from gotemplate.types.signature import MAP, Function

Dict = dict[str, object]


def merge(run: Rendering, target: Dict | None, *sources: Dict | None) -> Dict:
    """Add to a map what it lacks, from the first of the other maps that has it."""
    return _merged(run, target, sources, overwrite=False)


def merge_overwrite(run: Rendering, target: Dict | None, *sources: Dict | None) -> Dict:
    """Overwrite the values of a map with those of others; the last ones win."""
    return _merged(run, target, sources, overwrite=True)


def _merged(
    run: Rendering, target: Dict | None, sources: tuple[Dict | None, ...], *, overwrite: bool
) -> Dict:
    found = {} if target is None else target
    for source in sources:
        _merge(run, found, source or {}, 0, overwrite=overwrite)
    return found


def _merge(run: Rendering, target: Dict, source: Dict, depth: int, *, overwrite: bool) -> None:
    run.check("value_depth", depth)
    run.charge(len(source))
    for key, value in list(source.items()):
        current = target.get(key)
        both_maps = kind_of(value) is kind_of(current) is Kind.MAP
        if both_maps:
            assert isinstance(current, dict)
            assert isinstance(value, dict)
            _merge(run, current, value, depth + 1, overwrite=overwrite)
        if value is None and not overwrite:
            continue
        if not truth(current) or (overwrite and not both_maps):
            target[key] = value


FUNCTIONS: Final = (
    Function("merge", merge, (MAP,), MAP, uses_rendering=True),
    Function("mustMerge", merge, (MAP,), MAP, uses_rendering=True),
    Function("mergeOverwrite", merge_overwrite, (MAP,), MAP, uses_rendering=True),
    Function("mustMergeOverwrite", merge_overwrite, (MAP,), MAP, uses_rendering=True),
)
