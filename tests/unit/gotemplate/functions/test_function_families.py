"""The listed names of the functions, with which none is imported before its use."""

import importlib
import pkgutil

import gotemplate.functions
from gotemplate.functions import FAMILIES


def test_each_family_has_the_functions_that_are_listed() -> None:
    for family, names in FAMILIES.items():
        module = importlib.import_module(f"gotemplate.functions.{family}")
        assert [function.name for function in module.FUNCTIONS] == names.split(), family


def test_each_module_with_functions_is_listed() -> None:
    package = gotemplate.functions
    found = {
        name.removeprefix("gotemplate.functions.")
        for _, name, _ in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if hasattr(importlib.import_module(name), "FUNCTIONS")
    }
    assert found == set(FAMILIES)
