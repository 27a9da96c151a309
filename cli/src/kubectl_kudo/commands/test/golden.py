"""`kubectl kudo test --render-only`: compares what packages render with their golden files."""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote

import goyaml
from kubectl_kudo.commands.package.render import document
from kubectl_kudo.commands.test.golden_files import (
    GOLDEN,
    GoldenSet,
    default_set,
    find_packages,
    golden_sets,
)
from kubectl_kudo.packages.install_set import as_declared, check_instance
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, ExitCode, describe
from kubectl_kudo.session.output import JsonObject, say
from kubectl_kudo.session.terminal import clean
from kudo.api.problems import InvalidInput, KudoError
from kudo.authoring.preview import Previewed, preview, preview_instance
from kudo.packages.convert import to_objects
from kudo.packages.location import locate
from kudo.packages.resolution import resolve
from kudo.redaction.objects import Redactor
from kudo.redaction.texts import redact_text

_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a package renders.

    Attributes:
        texts: Text of each file, by its path such as `deploy/main/app.yaml`.
        objects: All objects, for the values that are secret.
        unsteady: The files that are different each time.
    """

    texts: Mapping[str, str]
    objects: tuple[JsonObject, ...]
    unsteady: frozenset[str]


def render_package(folder: Path, given: Mapping[str, str]) -> Rendered:
    """Render all plans of a package.

    Args:
        folder: Of the package.
        given: Values of parameters; the others have their defaults.

    Raises:
        InvalidInput: the package cannot be read, or a value is missing or invalid.
        PreviewError: a template cannot be rendered.
    """
    first, second = list(_items(folder, given)), list(_items(folder, given))
    texts, again = _texts(first), _texts(second)
    return Rendered(
        texts=texts,
        objects=tuple(item.shown.object for item in first if item.shown.object is not None),
        # Random values and the time of day are another one each time.
        unsteady=frozenset(path for path in texts if texts[path] != again.get(path)),
    )


def _items(folder: Path, given: Mapping[str, str]) -> Iterator[Previewed]:
    objects = to_objects(resolve(locate(folder), None).root, _NAMESPACE)
    version, name = objects.operator_version, objects.instance.metadata.name
    values = as_declared(version, given)
    check_instance(name, version, values, is_preview=True)
    instance = preview_instance(version, name, _NAMESPACE, values)
    for plan in version.plans:
        yield from preview(version, instance, plan)


def _texts(items: list[Previewed]) -> dict[str, str]:
    documents: dict[str, list[str]] = defaultdict(list)
    for item in items:
        at = item.position
        documents[f"{'/'.join(map(_safe, (at.plan, at.phase, at.step)))}.yaml"].append(
            document(item)
        )
    return {path: "".join(texts) for path, texts in documents.items()}


def _safe(name: str) -> str:
    """Return a name as that of a file in its folder; the package chooses it."""
    quoted = quote(name, safe=" ")
    return f"%2E{quoted[1:]}" if quoted.startswith(".") else quoted


MOST_LINES: Final = 200
"""Lines of the differences of one file that are shown."""
_MOST_COMPARED: Final = 20_000
"""Lines of a file up to which lines are compared; the time grows with their square."""


def differences(folder: str, golden: Mapping[str, str], rendered: Rendered) -> Iterator[str]:
    """Yield a text for each file that is missing, superfluous or different.

    Args:
        folder: The folder of the golden files, as it is shown.
        golden: Their texts, by path.
        rendered: What the package renders.
    """
    redactor = Redactor()
    redactor.learn([*rendered.objects, *_objects(golden.values())])
    for path in sorted({*golden, *rendered.texts}):
        shown = f"{folder}/{path}"
        before, after = golden.get(path), rendered.texts.get(path)
        if path in rendered.unsteady:
            yield unsteady(shown)
        elif after is None:
            yield f"{shown}: nothing renders it any more"
        elif before is None:
            yield f"{shown}: there is no such file yet"
        elif before != after:
            lines = "\n".join(_lines(shown, before, after))
            yield clean(redact_text(lines, redactor.known))


def unsteady(shown: str) -> str:
    """Return why a file cannot be kept."""
    return (
        f"{shown}: a template renders something else each time, such as a random value or the "
        "time; give the package a parameter for it, and its value in params.yaml"
    )


def _lines(shown: str, before: str, after: str) -> Iterator[str]:
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > _MOST_COMPARED:
        yield f"{shown}: differs, and has too many lines to say where"
        return
    difference = list(difflib.unified_diff(old, new, shown, f"{shown} (rendered)", lineterm=""))
    if not difference:
        yield f"{shown}: differs in the ends of lines"
    yield from difference[:MOST_LINES]
    if len(difference) > MOST_LINES:
        yield f"… {len(difference) - MOST_LINES} more lines"


def _objects(texts: Iterable[str]) -> Iterator[JsonObject]:
    """Yield the objects of golden files, for the values that are secret."""
    for text in texts:
        try:
            documents = goyaml.load_all(text)
        except goyaml.YamlError:
            # Somebody has edited it; the differences show where.
            continue
        yield from (obj for obj in documents if isinstance(obj, dict))


def compare_golden(args: Args) -> None:
    """Compare the golden files of packages, or write them with `--update`.

    Raises:
        CliError: files differ, a package cannot be rendered, or none is found.
    """
    given = args.arguments or ["."]
    packages = find_packages(given)
    comparison = _Comparison(update=args.update)
    for package in packages:
        # Of packages that are only found, those that have no golden files are left out.
        named = args.update or package in map(Path, given)
        sets = golden_sets(package) or ([default_set(package)] if named else [])
        for golden in sets:
            comparison.compare(package, golden)
    comparison.end()


@dataclass(slots=True)
class _Comparison:
    """Compares sets of golden files, and counts those that differ.

    Attributes:
        update: Whether the files are written instead.
    """

    update: bool
    compared: int = 0
    different: int = 0
    failed: list[str] = field(default_factory=list)

    def compare(self, package: Path, golden: GoldenSet) -> None:
        self.compared += 1
        try:
            rendered = render_package(package, golden.parameters())
            if self.update:
                self._write(golden, rendered)
                return
            differing = _compare(golden, rendered)
        except (CliError, InvalidInput, KudoError) as error:
            self.failed.append(str(golden.folder))
            say(f"FAILED {golden.folder}: {describe(error)}")
            return
        self.different += bool(differing)
        if not differing:
            say(_same(golden, rendered))
        else:
            say(f"DIFFERENT {golden.folder}")
            say("\n".join(differing))

    def end(self) -> None:
        if self.failed:
            count = f"{len(self.failed)} of {self.compared}"
            raise CliError(
                f"{count} golden folders could not be compared", code=ExitCode.TEST_FAILED
            )
        if self.compared == 0:
            raise CliError(
                f"no package has a folder {GOLDEN}; write it with --render-only --update",
                code=ExitCode.NOT_FOUND,
            )
        if self.different and not self.update:
            count = f"{self.different} of {self.compared}"
            raise CliError(
                f"{count} golden folders differ from what is rendered; if that is as it should "
                "be, run it again with --update",
                code=ExitCode.TEST_FAILED,
            )

    def _write(self, golden: GoldenSet, rendered: Rendered) -> None:
        """Write the files of a set, but for those that are rendered differently each time.

        Raises:
            CliError: there are such files, or one cannot be written.
        """
        steady = {
            path: text for path, text in rendered.texts.items() if path not in rendered.unsteady
        }
        written = list(golden.write(steady))
        if written:
            say("\n".join(written))
        if rendered.unsteady:
            paths = sorted(rendered.unsteady)
            raise CliError("\n  ".join(unsteady(f"{golden.folder}/{path}") for path in paths))
        if not written:
            say(_same(golden, rendered))


def _same(golden: GoldenSet, rendered: Rendered) -> str:
    return f"same {golden.folder} ({len(rendered.texts)} files)"


def _compare(golden: GoldenSet, rendered: Rendered) -> list[str]:
    return list(differences(str(golden.folder), golden.texts(), rendered))
