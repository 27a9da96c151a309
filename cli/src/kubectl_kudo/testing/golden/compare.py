"""`kubectl kudo test --render-only`: compares what packages render with their golden files."""

from dataclasses import dataclass, field
from pathlib import Path

from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, ExitCode, describe
from kubectl_kudo.session.output import say
from kubectl_kudo.testing.golden.difference import differences, unsteady
from kubectl_kudo.testing.golden.files import GoldenSet, default_set, golden_sets
from kubectl_kudo.testing.golden.packages import GOLDEN, find_packages
from kubectl_kudo.testing.golden.rendering import Rendered, render_package
from kudo.api.problems import InvalidInput, KudoError


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
            found = _compare(golden, rendered)
        except (CliError, InvalidInput, KudoError) as error:
            self.failed.append(str(golden.folder))
            say(f"FAILED {golden.folder}: {describe(error)}")
            return
        self.different += bool(found)
        if not found:
            say(_same(golden, rendered))
        else:
            say(f"DIFFERENT {golden.folder}")
            say("\n".join(found))

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
