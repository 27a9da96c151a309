"""Reports how the sources are laid out, and fails where parts of a package import in a cycle.

    python -m tools.layout [--root FOLDER]

prints a line for each package: modules, folders, the largest folder, lines of code, and imports
that close a cycle. Below it stand figures of all packages but tests and tools, which tell how the
code reads: lines of code a file, private functions and those of up to five lines that are used
once, comments, and stored names that say nothing. `--root` reads another checkout, such as one of
an older commit.

Lines of code are those without blank lines, comments and docstrings.
"""

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
VAGUE: Final = frozenset(
    {"found", "one", "known", "told", "wanted", "ahead", "upkeep", "spread", "turn", "share"}
)
"""Names that do not tell what they are the name of."""

_SMALL: Final = 100
_SHORT: Final = 5
_TOP: Final = ("libs", "services", "cli", "tools", "tests")
_INIT: Final = "__init__"
_LAYOUT_TOKENS: Final = frozenset(
    {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)

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
class Source:
    """What one module consists of.

    Attributes:
        lines, comments: Of code, and with a comment.
        functions: The lines of each function or method that is defined, by name.
        stored: How often a value is stored under each name.
        used: How often each name is read.
    """

    lines: int
    comments: int
    functions: tuple[tuple[str, int], ...]
    stored: Counter[str]
    used: Counter[str]

    @classmethod
    def read(cls, path: Path) -> "Source":
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        code: set[int] = set()
        comments: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                comments.add(token.start[0])
            elif token.type not in _LAYOUT_TOKENS:
                code.update(range(token.start[0], token.end[0] + 1))
        functions: list[tuple[str, int]] = []
        stored, used = Counter[str](), Counter[str]()
        for node in ast.walk(tree):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    functions.append((name, len(_lines_of(node.body))))
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                    stored[name] += 1
                case ast.Name(id=name) | ast.Attribute(attr=name):
                    used[name] += 1
        return cls(len(code - _docstrings(tree)), len(comments), tuple(functions), stored, used)


def _lines_of(body: Sequence[ast.stmt]) -> range:
    first = body[1] if len(body) > 1 and _is_text(body[0]) else body[0]
    return range(first.lineno, (body[-1].end_lineno or 0) + 1)


def _docstrings(tree: ast.Module) -> set[int]:
    """Return the lines of texts that stand alone: docstrings, and those below a name."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and _is_text(node)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }


def _is_text(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


@dataclass(frozen=True, slots=True)
class Layout:
    """Modules, packages and imports of a checkout.

    Attributes:
        folders: Modules of each folder, without `__init__.py`; the folder relative to the checkout.
        packages: The folders of each package.
        against: Imports against the direction, and the number of modules that make each of them.
        texts: The sources of each package.
    """

    folders: Counter[str]
    packages: Mapping[str, frozenset[str]]
    against: Counter[Arrow]
    texts: Mapping[str, tuple[Source, ...]]

    def arrows(self, package: str) -> int:
        """Return how many imports of the package go against its direction."""
        return sum(n for arrow, n in self.against.items() if arrow.inside[0] == package)


def read(root: Path) -> Layout:
    """Read the Python sources of a checkout."""
    modules = {_name(path.relative_to(root)): path for path in _sources(root)}
    folders: Counter[str] = Counter()
    packages: dict[str, set[str]] = {}
    texts: dict[str, list[Source]] = {}
    for name, path in modules.items():
        folder = path.parent.relative_to(root).as_posix()
        packages.setdefault(name[0], set()).add(folder)
        texts.setdefault(name[0], []).append(Source.read(path))
        folders[folder] += path.stem != _INIT
    return Layout(
        folders=folders,
        packages={name: frozenset(folders_of) for name, folders_of in sorted(packages.items())},
        against=_against(_arrows(modules)),
        texts={name: tuple(sources) for name, sources in texts.items()},
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


def _shared(name: Name, other: Name) -> int:
    for depth, (left, right) in enumerate(zip(name, other, strict=False)):
        if left != right:
            return depth
    return min(len(name), len(other))


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


def problems(layout: Layout) -> list[str]:
    """Return the packages whose parts import each other in a cycle."""
    return [
        f"{package}: {layout.arrows(package)} imports close a cycle: {_named(layout, package)}"
        for package in sorted(layout.packages)
        if layout.arrows(package)
    ]


def _named(layout: Layout, package: str) -> str:
    return ", ".join(
        f"{'.'.join(arrow.inside)}: {arrow.source} -> {arrow.target} ({n})"
        for arrow, n in sorted(layout.against.items(), key=str)
        if arrow.inside[0] == package
    )


def table(layout: Layout) -> str:
    """Return one line for each package."""
    lines = ["package             modules  folders  largest folder    code  in a cycle"]
    for package, folders in layout.packages.items():
        counts = [layout.folders[folder] for folder in folders]
        code = sum(source.lines for source in layout.texts[package])
        lines.append(
            f"{package:<18}  {sum(counts):7}  {len(folders):7}  {max(counts):14}  {code:6}  "
            f"{layout.arrows(package):10}"
        )
    return "\n".join(lines)


def figures(layout: Layout) -> str:
    """Return how the code of all packages but tests and tools reads."""
    sources = [
        source
        for package, texts in layout.texts.items()
        if package not in {"tests", "tools"}
        for source in texts
    ]
    code = sum(source.lines for source in sources)
    functions = [(name, lines) for source in sources for name, lines in source.functions]
    private = [(name, n) for name, n in functions if name.startswith("_") and name[-2:] != "__"]
    used = sum((source.used for source in sources), Counter[str]())
    once = [name for name, lines in private if lines <= _SHORT and used[name] == 1]
    stored = sum((source.stored for source in sources), Counter[str]())
    vague = {name: stored[name] for name in sorted(VAGUE, key=lambda name: (-stored[name], name))}
    shown = ", ".join(f"{name} {count}" for name, count in vague.items() if count)
    return (
        f"{code} lines of code in {len(sources)} files, "
        f"{sum(source.lines < _SMALL for source in sources)} of less than {_SMALL}\n"
        f"{len(functions)} functions, {_percent(len(private), len(functions))} private; "
        f"{len(once)} of up to {_SHORT} lines are used once\n"
        f"{100 * sum(source.comments for source in sources) / max(code, 1):.1f} comments in 100 "
        f"lines of code\n"
        f"{_percent(sum(vague.values()), stored.total())} of stored names are vague ({shown})"
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f} %"


def main() -> int:
    """Print the report and the cycles; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.layout", description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT)
    layout = read(parser.parse_args().root)
    print(table(layout))
    print(figures(layout))
    cycles = problems(layout)
    for cycle in cycles:
        print(cycle, file=sys.stderr)
    return 1 if cycles else 0


if __name__ == "__main__":
    sys.exit(main())
