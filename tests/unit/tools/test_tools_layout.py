from pathlib import Path

import pytest

from tools.layout import LIMIT, problems, read, table

FOLDER = "libs/shop/src/shop"


def write(root: Path, **modules: str) -> None:
    """Write modules of a package; underscores in pairs separate folders."""
    for name, source in modules.items():
        path = (root / FOLDER / name.replace("__", "/")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)


def many(count: int) -> dict[str, str]:
    return {f"module{number}": "" for number in range(count)}


def test_a_folder_at_the_limit_is_fine_and_init_does_not_count(tmp_path: Path) -> None:
    write(tmp_path, **many(LIMIT))
    (tmp_path / FOLDER / "__init__.py").write_text("")
    layout = read(tmp_path)
    assert layout.folders[FOLDER] == LIMIT
    assert problems(layout, {}, {}) == []


def test_a_folder_above_the_limit_is_told_with_its_number(tmp_path: Path) -> None:
    write(tmp_path, **many(LIMIT + 1))
    assert problems(read(tmp_path), {}, {}) == [
        f"{FOLDER}: 19 modules, 18 at most; split it by what they do"
    ]


def test_an_exception_may_not_grow(tmp_path: Path) -> None:
    write(tmp_path, **many(LIMIT + 3))
    assert problems(read(tmp_path), {FOLDER: LIMIT + 3}, {}) == []
    (found,) = problems(read(tmp_path), {FOLDER: LIMIT + 2}, {})
    assert "21 modules, 20 at most" in found


@pytest.mark.parametrize(
    ("count", "todo"), [(LIMIT + 1, "write 19"), (LIMIT, "remove its line"), (0, "remove its line")]
)
def test_an_exception_that_names_more_than_there_is_has_to_shrink(
    tmp_path: Path, count: int, todo: str
) -> None:
    write(tmp_path, **many(count))
    assert problems(read(tmp_path), {FOLDER: 30}, {}) == [
        f"{FOLDER}: {count} instead of 30; {todo} in ABOVE of tools/layout.py"
    ]


def test_imports_in_one_direction_are_fine(tmp_path: Path) -> None:
    write(
        tmp_path,
        sales__order="from shop.core.price import total\nfrom shop.core import price",
        sales__offer="import shop.core.price",
        core__price="",
    )
    layout = read(tmp_path)
    assert layout.arrows("shop") == 0
    assert problems(layout, {}, {}) == []


def test_the_rarer_direction_of_a_circle_is_counted(tmp_path: Path) -> None:
    write(
        tmp_path,
        sales__order="from shop.core.price import total",
        sales__offer="from shop.core import price",
        core__price="def total() -> None:\n    from shop.sales import order",
    )
    assert problems(read(tmp_path), {}, {}) == [
        "shop: 1 imports close a cycle, 0 at most: shop: core -> sales (1)"
    ]
    assert problems(read(tmp_path), {}, {"shop": 1}) == []
    (found,) = problems(read(tmp_path), {}, {"shop": 2})
    assert "1 instead of 2; write 1 in AGAINST" in found


def test_a_circle_over_three_parts_is_found(tmp_path: Path) -> None:
    write(
        tmp_path,
        a__x="import shop.b.x",
        b__x="import shop.c.x",
        c__x="import shop.a.x",
        d="import shop.a.x",
    )
    assert read(tmp_path).arrows("shop") == 1


def test_a_module_that_imports_what_exports_it_goes_against_the_direction(tmp_path: Path) -> None:
    write(tmp_path, core__price="from shop.core import total", core__cart="")
    (tmp_path / FOLDER / "core" / "__init__.py").write_text("from shop.core.price import total")
    assert read(tmp_path).arrows("shop") == 1


def test_the_table_has_a_line_for_each_package(tmp_path: Path) -> None:
    write(tmp_path, sales__order="", core__price="", core__cart="")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "build.py").write_text("")
    words = [line.split() for line in table(read(tmp_path)).splitlines()[1:]]
    assert words == [["shop", "3", "2", "2", "0"], ["tools", "1", "1", "1", "0"]]
