"""The connection to an API server: names, contexts, discovery, warnings and what is forbidden."""

import copy
import json
import os
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.conftest import KUBECONFIG, Cli
from tests.unit.cli.fake_api import FakeApi


@pytest.mark.parametrize(
    "line",
    [
        *(f"uninstall --instance {name}" for name in ("..", "a/b", "Tea", "tea-")),
        *("describe --instance x/y", "get instances ../x"),
    ],
)
def test_names_that_no_object_can_have_are_not_sent(kudo: Cli, api: FakeApi, line: str) -> None:
    ran = kudo(*line.split())
    assert ran.code != 0
    assert f'the instance name "{line.split()[-1]}" is not valid' in ran.err
    assert api.requests == []


def test_the_namespace_is_that_of_the_chosen_context_or_of_the_flag(
    kudo: Cli, api: FakeApi
) -> None:
    # BTO-4: there was no --context.
    assert 'namespace "default"' in kudo("get", "all", "--context", "other").out
    assert 'namespace "pantry"' in kudo("-n", "pantry", "get", "all", "--context", "other").out


def test_several_kubeconfigs_are_merged(
    kudo: Cli, api: FakeApi, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # BTO-5: the whole list was taken for the path of one file.
    contexts, clusters = tmp_path / "contexts", tmp_path / "clusters"
    whole = yaml.safe_load(KUBECONFIG.format(url=api.url))
    contexts.write_text(json.dumps({key: whole[key] for key in ("contexts", "current-context")}))
    clusters.write_text(json.dumps({key: whole[key] for key in ("clusters", "users")}))
    files = (str(tmp_path / "missing"), str(contexts), str(clusters))
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(files))
    assert 'namespace "kitchen"' in kudo("get", "all").out
    assert 'namespace "default"' in kudo("get", "all", "--context", "other").out


def test_the_namespace_is_that_of_the_kubeconfig_that_is_named(
    kudo: Cli, api: FakeApi, tmp_path: Path
) -> None:
    # BTO-5: it was still that of the kubeconfig of the environment.
    named = tmp_path / "named"
    named.write_text(KUBECONFIG.format(url=api.url).replace("namespace: kitchen", "namespace: tea"))
    assert 'namespace "tea"' in kudo("get", "all", f"--kubeconfig={named}").out


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--as-group", "cooks"], "--as-group needs --as, the user to impersonate"),
        (["--as", "a\nb"], "identity: 'a\\nb' cannot be the name of a user"),
        (["--as", "a", "--as-group", " "], "identity: ' ' cannot be the name of a group"),
    ],
)
def test_who_cannot_be_impersonated_is_told(
    kudo: Cli, api: FakeApi, flags: list[str], text: str
) -> None:
    ran = kudo("get", "all", *flags)
    assert (ran.code, ran.err, api.requests) == (2, f"Error: {text}\n", [])


def serve_as_v1(api: FakeApi, plural: str) -> None:
    """Have a kind served in version v1 alone."""
    crd = copy.deepcopy(api.objects["customresourcedefinitions", f"{plural}.kudo.dev"])
    api.remove("customresourcedefinitions", f"{plural}.kudo.dev")
    crd["spec"]["versions"][0]["name"] = "v1"
    api.add("customresourcedefinitions", crd)


def test_missing_crds_are_named_one_by_one(kudo: Cli, api: FakeApi) -> None:
    serve_as_v1(api, "operators")
    serve_as_v1(api, "operatorversions")
    ran = kudo("get", "all")
    assert ran.code == 255
    assert "Error: CRDs invalid: \n" in ran.err
    assert "Expected API version v1beta1 was not found for operators.kudo.dev" in ran.err
    assert "instances.kudo.dev" not in ran.err
    assert kudo("get", "instances", "--validate-install=false").code == 0


def test_the_check_of_the_crds_needs_no_rights_in_the_cluster(kudo: Cli, api: FakeApi) -> None:
    # BTO-6: it read the CRDs themselves, which users of one namespace may not.
    api.refusals["GET", "customresourcedefinitions"] = (403, "forbidden")
    assert kudo("get", "all").code == 0


def test_who_may_not_read_discovery_is_let_through(kudo: Cli, api: FakeApi) -> None:
    # BTO-6: without the right, nothing could be done.
    api.refusals["GET", "discovery"] = (403, "forbidden")
    assert kudo("get", "all").code == 0


def test_warnings_of_the_api_server_go_to_stderr_once(kudo: Cli, api: FakeApi) -> None:
    api.warning = "tea is deprecated"
    ran = kudo("get", "all", "-o", "json")
    assert ran.out == "[]\n"
    assert ran.err == "Warning: tea is deprecated\n"


def test_the_warning_about_the_name_of_our_finalizer_is_kept_from_users(
    kudo: Cli, api: FakeApi
) -> None:
    api.warning = (
        'metadata.finalizers: "kudo.dev.instance.cleanup": prefer a domain-qualified finalizer name'
    )
    assert kudo("get", "all").err == ""
