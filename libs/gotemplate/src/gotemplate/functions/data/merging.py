"""Sprig's merging of maps.

The first map is changed. A key it lacks, or whose value is empty, gets the value of the other
map; two maps under one key are merged in turn; every other value stays, or is replaced when
overwriting.

`merge` and `mergeOverwrite` follow mergo v0.3.9, the version of KUDO 0.19: an empty value of the
other map, such as false or 0, counts as none, so that it neither overwrites nor adds a key; only
nil overwrites. `mustMerge` and `mustMergeOverwrite`, which KUDO 0.19 lacks, are those of Sprig 3.3:
empty values count. Where a value has different types in both maps, all follow Sprig 3.3.
"""

from dataclasses import dataclass
from typing import Final

from gotemplate.golang.values import Kind, kind_of, truth
from gotemplate.limits import Rendering
from gotemplate.types.signature import MAP, Function

Dict = dict[str, object]


def merge(run: Rendering, target: Dict | None, *sources: Dict | None) -> Dict:
    """Add to a map what it lacks, from the first of the other maps that has it."""
    return _Merger(run, overwrite=False, empty=False).merged(target, sources)


def must_merge(run: Rendering, target: Dict | None, *sources: Dict | None) -> Dict:
    """Do the same, and add empty values, too."""
    return _Merger(run, overwrite=False, empty=True).merged(target, sources)


def merge_overwrite(run: Rendering, target: Dict | None, *sources: Dict | None) -> Dict:
    """Overwrite the values of a map with those of others that are not empty; the last ones win."""
    return _Merger(run, overwrite=True, empty=False).merged(target, sources)


def must_merge_overwrite(run: Rendering, target: Dict | None, *sources: Dict | None) -> Dict:
    """Do the same, with empty values, too."""
    return _Merger(run, overwrite=True, empty=True).merged(target, sources)


@dataclass(frozen=True, slots=True)
class _Merger:
    """One call of a function.

    Attributes:
        overwrite: Whether the other maps win.
        empty: Whether their empty values count.
    """

    run: Rendering
    overwrite: bool
    empty: bool

    def merged(self, target: Dict | None, sources: tuple[Dict | None, ...]) -> Dict:
        found = {} if target is None else target
        for source in sources:
            self._merge(found, source or {}, 0)
        return found

    def _merge(self, target: Dict, source: Dict, depth: int) -> None:
        self.run.check("value_depth", depth)
        self.run.charge(len(source))
        for key, value in list(source.items()):
            current = target.get(key)
            both_maps = kind_of(value) is kind_of(current) is Kind.MAP
            if both_maps:
                assert isinstance(current, dict)
                assert isinstance(value, dict)
                self._merge(current, value, depth + 1)
            if value is None and not self.overwrite:
                continue
            if not (self.empty or value is None or truth(value)):
                if current is None:
                    target.pop(key, None)  # mergo removes a nil that meets an empty value
                continue
            if not truth(current) or (self.overwrite and not both_maps):
                target[key] = value


FUNCTIONS: Final = (
    Function("merge", merge, (MAP,), MAP, uses_rendering=True),
    Function("mustMerge", must_merge, (MAP,), MAP, uses_rendering=True),
    Function("mergeOverwrite", merge_overwrite, (MAP,), MAP, uses_rendering=True),
    Function("mustMergeOverwrite", must_merge_overwrite, (MAP,), MAP, uses_rendering=True),
)
