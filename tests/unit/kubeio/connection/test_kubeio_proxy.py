"""Which proxy the environment names, by Go's rules."""

import pytest

from kubeio.connection.tls import proxy_from_environment

PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("server", "environ", "proxy"),
    [
        ("https://k8s.example", {}, None),
        ("https://k8s.example", {"HTTPS_PROXY": PROXY}, PROXY),
        ("https://k8s.example", {"https_proxy": PROXY, "HTTPS_PROXY": "http://b"}, PROXY),
        ("https://k8s.example", {"HTTP_PROXY": PROXY}, None),
        ("http://k8s.example", {"HTTP_PROXY": PROXY}, PROXY),
        ("https://k8s.example", {"HTTPS_PROXY": "proxy:3128"}, PROXY),
        ("https://localhost:6443", {"HTTPS_PROXY": PROXY}, None),
        ("https://127.0.0.9:6443", {"HTTPS_PROXY": PROXY}, None),
        ("https://[::1]:6443", {"HTTPS_PROXY": PROXY}, None),
    ],
)
def test_the_proxy_fits_scheme_and_host(
    server: str, environ: dict[str, str], proxy: str | None
) -> None:
    assert proxy_from_environment(server, environ) == proxy


@pytest.mark.parametrize(
    ("server", "no_proxy", "direct"),
    [
        ("https://k8s.example", "*", True),
        ("https://k8s.example", "example", True),
        ("https://k8s.example", ".example", True),
        ("https://k8s.example", "*.example", True),
        ("https://example", ".example", False),
        ("https://k8s.example", "other, K8S.example", True),
        ("https://k8s.example", "ample", False),
        ("https://k8s.example:6443", "k8s.example:6443", True),
        ("https://k8s.example:6443", "k8s.example:443", False),
        ("https://10.96.0.1", "10.0.0.0/8", True),
        ("https://10.96.0.1", "192.168.0.0/16,junk/99", False),
        ("https://10.96.0.1", "10.96.0.1", True),
        ("https://10.96.0.1:443", "10.96.0.1:443", True),
        ("https://10.96.0.1", "0.1", False),
        ("https://[fd00::1]", "fd00::/8", True),
        ("https://[fd00::1]:443", "fd00::1", True),
        ("https://k8s.example", "10.0.0.0/8", False),
        ("https://k8s.example", ",,", False),
    ],
)
def test_exempt_hosts_are_reached_directly(server: str, no_proxy: str, direct: bool) -> None:
    environ = {"HTTPS_PROXY": PROXY, "NO_PROXY": no_proxy}
    assert (proxy_from_environment(server, environ) is None) is direct
