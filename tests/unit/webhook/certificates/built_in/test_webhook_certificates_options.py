"""The options for the certificate: files or built in, and never both."""

from datetime import timedelta
from pathlib import Path

import pytest

from kudo_webhook.certificates.authority import Lifetimes
from kudo_webhook.certificates.rotation import BuiltIn
from kudo_webhook.settings import Settings

FILES = ["--tls-cert", "c", "--tls-key", "k"]
SECRET = ["--certificate-secret", "s"]


def test_files_alone_mean_files() -> None:
    settings = Settings.read(FILES, {})
    assert settings.tls_files == (Path("c"), Path("k"))
    assert settings.built_in is None


def test_a_secret_alone_means_built_in_certificates() -> None:
    settings = Settings.read(SECRET, {})
    assert settings.tls_files is None
    assert settings.built_in == BuiltIn(
        secret="s",
        namespace=None,
        service="kudo-webhook",
        configuration="kudo-instance-admission",
        lifetimes=Lifetimes(authority=timedelta(days=730), leaf=timedelta(days=90)),
    )


def test_all_of_it_can_be_set_by_variables() -> None:
    settings = Settings.read(
        [],
        {
            "KUDO_WEBHOOK_CERTIFICATE_SECRET": "s",
            "KUDO_WEBHOOK_CERTIFICATE_NAMESPACE": "ns",
            "KUDO_WEBHOOK_SERVICE_NAME": "svc",
            "KUDO_WEBHOOK_WEBHOOK_CONFIGURATION": "conf",
            "KUDO_WEBHOOK_LEAF_LIFETIME": "12h",
            "KUDO_WEBHOOK_CA_LIFETIME": "30d",
        },
    )
    lifetimes = Lifetimes(authority=timedelta(days=30), leaf=timedelta(hours=12))
    assert settings.built_in == BuiltIn("s", "ns", "svc", "conf", lifetimes)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "give either --tls-cert and --tls-key, or --certificate-secret"),
        ([*FILES, *SECRET], "give either --tls-cert and --tls-key, or --certificate-secret"),
        (FILES[:2], "--tls-cert and --tls-key belong together"),
        ([*FILES[2:], *SECRET], "--tls-cert and --tls-key belong together"),
        ([*SECRET, "--leaf-lifetime", "soon"], "'soon' is no duration"),
        ([*SECRET, "--leaf-lifetime", "2s"], "must live for 10s at least"),
        ([*SECRET, "--ca-lifetime", "100d"], "at least twice as long"),
        ([*SECRET, "--public-roots", "true"], "--public-roots needs --tls-cert"),
        ([*FILES, "--public-roots", "yes"], "'yes' is neither true nor false"),
    ],
)
def test_what_does_not_fit_together_ends_with_code_2_and_the_reason(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        Settings.read(arguments, {})
    assert caught.value.code == 2
    assert problem in capsys.readouterr().err
