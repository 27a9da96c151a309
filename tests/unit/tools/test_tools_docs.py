from pathlib import Path

import pytest

from tools.docs import PAGES, ROOT, copy, loaded_from_elsewhere, navigate, relinked


@pytest.mark.parametrize(
    ("source", "link", "copied"),
    [
        ("docs/plans.md", "[a](objects.md)", "[a](objects.md)"),
        ("docs/plans.md", "[a](design/1.pipe.md#x)", "[a](design/1.pipe.md#x)"),
        ("docs/plans.md", "[a](../CONTRIBUTING.md)", "[a](contributing.md)"),
        ("docs/plans.md", "[a](#states)", "[a](#states)"),
        ("docs/plans.md", "[a](https://kubernetes.io)", "[a](https://kubernetes.io)"),
        ("docs/plans.md", "[the rules](../libs/kudo)", "the rules"),
        ("docs/plans.md", "[a](schemas/params.json)", "[a](schemas/params.json)"),
        ("docs/plans.md", "![a](pictures/plan.svg)", "![a](pictures/plan.svg)"),
        ("README.md", "![a](docs/pictures/plan.svg)", "![a](pictures/plan.svg)"),
        ("docs/design/1.pipe.md", "[a](../plans.md)", "[a](../plans.md)"),
        ("docs/design/1.pipe.md", "[a](../../README.md)", "[a](../index.md)"),
        ("README.md", "[a](docs/plans.md)", "[a](plans.md)"),
        ("README.md", "[a\nb](docs/design/README.md)", "[a\nb](design/README.md)"),
        ("certs/README.md", "[a](../docs/installing.md#tls)", "[a](installing.md#tls)"),
        ("README.md", "```\n[a](docs/plans.md)\n```", "```\n[a](docs/plans.md)\n```"),
        (
            "docs/plans.md",
            '```yaml title="a.yaml"\nb: 1\n```',
            "```{code-block} yaml\n:caption: a.yaml\n\nb: 1\n```",
        ),
    ],
)
def test_links_lead_to_the_copies(source: str, link: str, copied: str) -> None:
    assert relinked(f"See\n{link}\n", source) == f"See\n{copied}\n"


def test_every_page_is_copied(tmp_path: Path) -> None:
    (tmp_path / "gone.md").write_text("of an earlier build")
    copy(ROOT, tmp_path)
    assert not (tmp_path / "gone.md").exists()
    assert all((tmp_path / name).exists() for name in PAGES.values())
    pages = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= {path.relative_to(tmp_path) for path in tmp_path.rglob("*.md")}
    assert (tmp_path / "schemas" / "operator.json").exists()


def test_doors_are_on_the_first_page_and_the_rest_below_its_index(tmp_path: Path) -> None:
    (tmp_path / "cli").mkdir()
    (tmp_path / "index.md").write_text("# KUDO\n")
    links = "[b](../cli/b.md) [a](../cli/a.md) [c](../c.md) [b](../cli/b.md#x)\n"
    (tmp_path / "cli" / "README.md").write_text(links)
    doors = 'below = ["cli/README.md"]\n[[door]]\nname = "Use"\npages = ["c.md", "cli/README.md"]\n'
    navigate(tmp_path, doors)
    assert (tmp_path / "index.md").read_text() == (
        "# KUDO\n\n```{toctree}\n:hidden:\n:caption: Use\n\nc.md\ncli/README.md\n```\n"
    )
    assert (
        (tmp_path / "cli" / "README.md")
        .read_text()
        .endswith("\n```{toctree}\n:hidden:\n\nb.md\na.md\n```\n")
    )


@pytest.mark.parametrize(
    ("name", "text", "address"),
    [
        ("a.html", '<script src="https://cdn.test/x.js"></script>', "https://cdn.test/x.js"),
        ("a.html", '<link rel="stylesheet" href="//cdn.test/x.css">', "//cdn.test/x.css"),
        ("a.html", '<img alt="" src="http://cdn.test/x.png">', "http://cdn.test/x.png"),
        ("sub/a.css", "body{background:url(https://cdn.test/x)}", "https://cdn.test/x"),
    ],
)
def test_what_is_loaded_from_another_server_is_told(
    tmp_path: Path, name: str, text: str, address: str
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    assert loaded_from_elsewhere(tmp_path) == [f"{name}: {address}"]


def test_links_to_other_servers_load_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<link rel="canonical" href="https://kudo.test/"><a href="https://kubernetes.io">K</a>'
        '<script src="assets/x.js"></script><link rel="stylesheet" href="../assets/x.css">'
    )
    (tmp_path / "a.css").write_text("body{background:url('data:image/svg+xml;x')}")
    assert loaded_from_elsewhere(tmp_path) == []
