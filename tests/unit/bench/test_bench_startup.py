from pathlib import Path

from kubectl_kudo.repositories.home import load_settings
from kubectl_kudo.session.arguments import Parser
from kudo.packages.repositories.index import read_index
from tests.bench.measure.cold_start import Cost, multiples
from tests.bench.startup import write_repository


def test_the_repository_has_as_many_packages_as_the_figure_says(tmp_path: Path) -> None:
    home = write_repository(tmp_path, 20)
    index = read_index((tmp_path / "index.yaml").read_bytes())
    assert (len(index.entries), index.warnings) == (20, ())
    [own] = load_settings(home).repositories
    assert own.url == tmp_path.as_uri()
    assert Parser("search").parse([f"--home={home}"]).home == str(home)


def test_multiples_are_those_of_the_same_round() -> None:
    own = [Cost(1.0, 0.04), Cost(1.0, 0.09), Cost(1.0, 0.06)]
    bare = [Cost(1.0, 0.01), Cost(1.0, 0.03), Cost(1.0, 0.01)]
    figure = multiples("version", own, bare, 4)
    assert figure.ok
    assert figure.measured.startswith("4.0 (3.0 to 6.0); 60 ms (40 to 90) over 10 ms (10 to 30)")
    assert not multiples("version", own, bare, 3.9).ok
