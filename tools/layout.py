"""Counts the modules of each folder, and the imports against the direction of each package.

    python -m tools.layout [--root FOLDER]

prints both for each package, and fails where a folder has more than 18 modules or where packages
import each other in a cycle. `--root` reads another checkout, such as one of an older commit.

The folders of `ABOVE` and the packages of `AGAINST` were over the limit when the check was added.
A number must be the present one: when it shrinks, it is lowered here, so that it cannot grow again.
"""

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
LIMIT: Final = 18
ABOVE: Final[Mapping[str, int]] = {}
AGAINST: Final[Mapping[str, int]] = {}

_TOP: Final = ("libs", "services", "cli", "tools", "tests")
_INIT: Final = "__init__"

Name = tuple[str, ...]
"""The dotted name of a module in parts; a package is named by its folder alone."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """An import between two parts of the same package.

    Attributes:
        inside: The package that holds both parts.
        source: The part that imports.
        target: The part that is imported.
    """

    inside: Name
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Layout:
    """Modules, packages and imports of a checkout.

    Attributes:
        folders: Modules of each folder, without `__init__.py`; the folder relative to the checkout.
        packages: The folders of each package.
        against: Imports against the direction, and the number of modules that make each of them.
    """

    folders: Counter[str]
    packages: Mapping[str, frozenset[str]]
    against: Counter[Arrow]

    def arrows(self, package: str) -> int:
        """Return how many imports of the package go against its direction."""
        return sum(n for arrow, n in self.against.items() if arrow.inside[0] == package)


def read(root: Path) -> Layout:
    """Read the Python sources of a checkout."""
    modules = {_name(path.relative_to(root)): path for path in _sources(root)}
    folders: Counter[str] = Counter()
    packages: dict[str, set[str]] = {}
    for name, path in modules.items():
        folder = path.parent.relative_to(root).as_posix()
        packages.setdefault(name[0], set()).add(folder)
        folders[folder] += path.stem != _INIT
    return Layout(
        folders=folders,
        packages={name: frozenset(found) for name, found in sorted(packages.items())},
        against=_against(_arrows(modules)),
    )


def _sources(root: Path) -> Iterator[Path]:
    for top in _TOP:
        for path in sorted((root / top).rglob("*.py")):
            if not any(part.startswith(".") for part in path.relative_to(root).parts):
                yield path


def _name(path: Path) -> Name:
    parts = path.with_suffix("").parts
    if "src" in parts:
        parts = parts[parts.index("src") + 1 :]
    return parts[:-1] if parts[-1] == _INIT else parts


def _arrows(modules: Mapping[Name, Path]) -> Counter[Arrow]:
    """Return the imports between parts of one package; each pair of modules counts once."""
    arrows: Counter[Arrow] = Counter()
    for source, path in modules.items():
        for target in set(_imports(ast.parse(path.read_bytes()), modules)) - {source}:
            depth = _shared(source, target)
            if depth:
                arrows[Arrow(source[:depth], _part(source, depth), _part(target, depth))] += 1
    return arrows


def _imports(tree: ast.Module, modules: Mapping[Name, Path]) -> Iterator[Name]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            package = tuple(node.module.split("."))
            names = [
                name if (name := (*package, alias.name)) in modules else package
                for alias in node.names
            ]
        else:
            continue
        yield from (name for name in names if name in modules)


def _shared(one: Name, other: Name) -> int:
    for depth, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return depth
    return min(len(one), len(other))


def _part(name: Name, depth: int) -> str:
    return name[depth] if len(name) > depth else _INIT


def _against(arrows: Counter[Arrow]) -> Counter[Arrow]:
    """Return the imports that close a cycle of parts, in an order that has few of them."""
    against: Counter[Arrow] = Counter()
    for inside in {arrow.inside for arrow in arrows}:
        weights = {(a.source, a.target): n for a, n in arrows.items() if a.inside == inside}
        rank = {part: place for place, part in enumerate(_order(weights))}
        for (source, target), count in weights.items():
            if rank[source] > rank[target]:
                against[Arrow(inside, source, target)] = count
    return against


def _order(weights: Mapping[tuple[str, str], int]) -> list[str]:
    """Return the parts, importers first, by the heuristic of Eades, Lin and Smyth.

    Without cycles no import points backwards.
    """
    left = {part for pair in weights for part in pair}
    first: list[str] = []
    last: list[str] = []
    while left:
        within = {pair: n for pair, n in weights.items() if set(pair) <= left}
        if bottom := left - {source for source, _ in within}:
            last[:0] = sorted(bottom)
            left -= bottom
        elif top := left - {target for _, target in within}:
            first += sorted(top)
            left -= top
        else:
            balance = Counter[str]()
            for (source, target), count in within.items():
                balance[source] += count
                balance[target] -= count
            best = min(left, key=lambda part: (-balance[part], part))
            first.append(best)
            left.remove(best)
    return first + last


def problems(layout: Layout, above: Mapping[str, int], against: Mapping[str, int]) -> list[str]:
    """Return what is over the limit, and which exceptions are no longer true."""
    found = []
    for folder in sorted({*layout.folders, *above}):
        count, allowed = layout.folders[folder], above.get(folder, LIMIT)
        if count > allowed:
            found.append(f"{folder}: {count} modules, {allowed} at most; split it by what they do")
        elif folder in above and count < allowed:
            found.append(f"{folder}: {_shrunk('ABOVE', count, allowed, LIMIT)}")
    for package in sorted({*layout.packages, *against}):
        count, allowed = layout.arrows(package), against.get(package, 0)
        if count > allowed:
            arrows = ", ".join(
                f"{'.'.join(arrow.inside)}: {arrow.source} -> {arrow.target} ({n})"
                for arrow, n in sorted(layout.against.items(), key=str)
                if arrow.inside[0] == package
            )
            found.append(f"{package}: {count} imports close a cycle, {allowed} at most: {arrows}")
        elif package in against and count < allowed:
            found.append(f"{package}: {_shrunk('AGAINST', count, allowed, 0)}")
    return found


def _shrunk(name: str, count: int, allowed: int, limit: int) -> str:
    todo = "remove its line" if count <= limit else f"write {count}"
    return f"{count} instead of {allowed}; {todo} in {name} of tools/layout.py"


def table(layout: Layout) -> str:
    """Return one line for each package."""
    lines = ["package             modules  folders  largest folder  against the direction"]
    for package, folders in layout.packages.items():
        counts = [layout.folders[folder] for folder in folders]
        lines.append(
            f"{package:<18}  {sum(counts):7}  {len(folders):7}  {max(counts):14}  "
            f"{layout.arrows(package):21}"
        )
    return "\n".join(lines)


def main() -> int:
    """Print the table and what is over the limit; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.layout", description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT)
    layout = read(parser.parse_args().root)
    print(table(layout))
    found = problems(layout, ABOVE, AGAINST)
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
