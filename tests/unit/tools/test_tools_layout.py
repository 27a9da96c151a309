from pathlib import Path

from tools.layout import figures, problems, read, table

FOLDER = "libs/shop/src/shop"


def write(root: Path, **modules: str) -> None:
    """Write modules of a package; underscores in pairs separate folders."""
    for name, source in modules.items():
        path = (root / FOLDER / name.replace("__", "/")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)


def test_imports_in_one_direction_are_fine(tmp_path: Path) -> None:
    write(
        tmp_path,
        sales__order="from shop.core.price import total\nfrom shop.core import price",
        sales__offer="import shop.core.price",
        core__price="",
    )
    layout = read(tmp_path)
    assert layout.arrows("shop") == 0
    assert problems(layout) == []


def test_the_rarer_direction_of_a_circle_is_counted(tmp_path: Path) -> None:
    write(
        tmp_path,
        sales__order="from shop.core.price import total",
        sales__offer="from shop.core import price",
        core__price="def total() -> None:\n    from shop.sales import order",
    )
    assert problems(read(tmp_path)) == ["shop: 1 imports close a cycle: shop: core -> sales (1)"]


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
    write(tmp_path, sales__order="a = 1\n\n# why\nb = 2", core__price="", core__cart="")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "build.py").write_text("")
    words = [line.split() for line in table(read(tmp_path)).splitlines()[1:]]
    assert words == [["shop", "3", "2", "2", "2", "0"], ["tools", "1", "1", "1", "0", "0"]]


_PRICE = '''"""Prices."""


def total(items):
    """Return a sum."""
    found = _sum(items)  # in cents
    return found


def _sum(items):
    return sum(items)


def _twice(items):
    return _many(items) + _many(items)


def _many(items):
    return items
'''


def test_figures_tell_how_the_code_reads(tmp_path: Path) -> None:
    write(tmp_path, core__price=_PRICE)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "build.py").write_text("one = 1")
    assert figures(read(tmp_path)).splitlines() == [
        "9 lines of code in 1 files, 1 of less than 100",
        "4 functions, 75.0 % private; 1 of up to 5 lines are used once",
        "11.1 comments in 100 lines of code",
        "20.0 % of stored names are vague (found 1)",
    ]
