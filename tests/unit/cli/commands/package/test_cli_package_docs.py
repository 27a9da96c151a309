"""`package docs`: the reference of a package in Markdown."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli

OPERATOR = """\
name: teapot
description: Tea | for <everybody>.
operatorVersion: 0.3.0
kubernetesVersion: 1.22.0
url: https://example.com/teapot
maintainers: [{name: Ada, email: ada@example.com}, {name: Bo}]
tasks: [{name: pot, kind: Dummy, spec: {done: true}}]
plans:
  deploy:
    phases:
      - {name: main, strategy: parallel, steps: [{name: a, tasks: [pot]}, {name: b, tasks: []}]}
      - {name: end, steps: [{name: c, tasks: [pot, pot]}]}
  cleanup: {}
  brew: {}
"""
PARAMETERS = """\
groups:
  - {name: late, prio: 20}
  - {name: taste, displayName: Taste, description: How it tastes., prio: 10}
  - {name: unused}
parameters:
  - name: TEA
    displayName: Tea
    description: |
      The tea
      in the pot.
    hint: Black is strong.
    group: taste
    enum: [mint, "a|b"]
  - {name: HEAT, group: taste, advanced: true, type: integer, default: 80, trigger: brew}
  - {name: MILK, group: taste, trigger: brew, default: ""}
  - {name: POT, group: late, immutable: true, default: "`iron`"}
  - {name: EXTRAS, type: array, default: [lemon, "```"]}
"""
EXPECTED = """\
# teapot

Tea \\| for &lt;everybody>.

|  |  |
| --- | --- |
| Version | 0.3.0 |
| Kubernetes | 1.22.0 |
| Website | https://example.com/teapot |
| Maintainers | Ada &lt;ada@example.com>, Bo |

## Plans

| Plan | Runs when |
| --- | --- |
| `brew` | one of `HEAT`, `MILK` changes, or it is triggered |
| `cleanup` | the instance is deleted |
| `deploy` | an instance is installed, or a parameter without a plan of its own changes, or the \
version of the operator changes, or it is triggered |

### Plan `deploy`

The phases run one after the other.

* phase `main`, its steps at the same time
    * step `a`: `pot` (Dummy)
    * step `b`: nothing
* phase `end`
    * step `c`: `pot` (Dummy), `pot` (Dummy)

## Parameters

### Taste

How it tastes.

| Parameter | Description | Type | Default | Required | A change runs |
| --- | --- | --- | --- | --- | --- |
| `TEA` | **Tea** The tea in the pot. *Black is strong.* | string: `mint`, `a\\|b` \
|  | yes | `deploy` |
| `MILK` |  | string | empty | no | `brew` |

**Advanced**

| Parameter | Description | Type | Default | Required | A change runs |
| --- | --- | --- | --- | --- | --- |
| `HEAT` |  | integer | `80` | no | `brew` |

### late

| Parameter | Description | Type | Default | Required | A change runs |
| --- | --- | --- | --- | --- | --- |
| `POT` |  | string | `` `iron` `` | no | cannot be changed |

### Other parameters

| Parameter | Description | Type | Default | Required | A change runs |
| --- | --- | --- | --- | --- | --- |
| `EXTRAS` |  | array | below | no | `deploy` |

Default of `EXTRAS`:

````yaml
- lemon
- '```'
````
"""


@pytest.fixture
def teapot(package: Path) -> Path:
    (package / "operator.yaml").write_text(OPERATOR)
    (package / "params.yaml").write_text(PARAMETERS)
    return package


def test_the_reference_has_plans_groups_hints_and_advanced_parameters(
    run: Cli, teapot: Path
) -> None:
    ran = run("package", "docs", str(teapot))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == EXPECTED


def test_folder_archive_and_working_directory_read_alike(
    run: Cli, teapot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("package", "create", str(teapot), "-d", str(tmp_path), "--skip-verify").code == 0
    assert run("package", "docs", str(tmp_path / "teapot-0.3.0.tgz")).out == EXPECTED
    monkeypatch.chdir(teapot)
    assert run("package", "docs").out == EXPECTED


def test_the_reference_says_that_objects_are_deleted(run: Cli, teapot: Path) -> None:
    row = "| Objects that plans no longer apply | are deleted |\n"
    for prune, expected in (("true", True), ("false", False)):
        (teapot / "operator.yaml").write_text(f"{OPERATOR}prune: {prune}\n")
        assert (row in run("package", "docs", str(teapot)).out) is expected


def test_a_bare_package_has_a_reference_as_well(run: Cli, teapot: Path) -> None:
    (teapot / "operator.yaml").write_text("name: teapot\noperatorVersion: 1.0.0\n")
    (teapot / "params.yaml").write_text("")
    out = run("package", "docs", str(teapot)).out
    assert "The package has no plans.\n" in out
    assert out.endswith("## Parameters\n\nThe package has no parameters.\n")
