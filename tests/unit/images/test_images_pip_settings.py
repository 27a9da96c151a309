"""What of pip's settings reaches a build."""

from pathlib import Path

from tools.images.pip_settings import BUNDLE, read


def test_index_and_timeouts_are_passed_on_and_habits_are_not() -> None:
    listing = (
        "global.index-url='http://index.example/simple'\nglobal.timeout='9'\nglobal.quiet='1'\n"
    )
    settings = read(listing, {})
    assert settings.options == {"index-url": "http://index.example/simple", "timeout": "9"}
    assert settings.configuration() == (
        "[global]\nindex-url = http://index.example/simple\ntimeout = 9\n"
    )


def test_the_environment_wins_over_a_section_and_that_over_global() -> None:
    listing = ":env:.timeout='3'\nglobal.timeout='1'\ninstall.timeout='2'\n"
    assert read(listing, {}).options == {"timeout": "3"}
    assert read("install.timeout='2'\nglobal.timeout='1'\n", {}).options == {"timeout": "2"}


def test_certificates_are_found_where_the_build_gets_them() -> None:
    settings = read("global.cert='/etc/own.pem'\n", {"SSL_CERT_FILE": "/etc/other.pem"})
    assert settings.bundle == Path("/etc/own.pem")
    assert settings.configuration() == f"[global]\ncert = {BUNDLE}\n"


def test_without_a_setting_of_pip_the_usual_variables_name_the_certificates() -> None:
    assert read("", {"SSL_CERT_FILE": "", "CURL_CA_BUNDLE": "/c.pem"}).bundle == Path("/c.pem")
    assert read("", {}).bundle is None


def test_directories_with_wheels_are_shown_to_the_build(tmp_path: Path) -> None:
    links = f"{tmp_path} /no/such/place"
    settings = read(f"global.find-links={links!r}\n", {})
    assert settings.directories == (tmp_path,)
    assert settings.configuration() == f"[global]\nfind-links = {tmp_path}\n  /no/such/place\n"


def test_a_machine_without_settings_gives_an_empty_configuration() -> None:
    assert read("", {}).configuration() == "[global]\n"
