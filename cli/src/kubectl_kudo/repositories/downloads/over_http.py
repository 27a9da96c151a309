"""Downloads a file over http or https, in one attempt.

Redirects are followed here and not by aiohttp, so that each step decides anew whether credentials
belong to the host.
"""

import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from kubectl_kudo import __version__
from kubectl_kudo.repositories.credentials import PASSWORD, TOKEN, USERNAME, Credentials, basic
from kubectl_kudo.repositories.downloads.results import (
    Downloaded,
    DownloadError,
    Unreachable,
    too_large,
)
from kubectl_kudo.repositories.urls import fault_of, is_private, is_remote, origin, shown_url
from kubeio.connection.http.errors import reason_of
from kubeio.connection.tracing import Answered, Sent, Tracer, masked

_CHUNK = 64 * 1024
_MOST_REDIRECTS = 5
_LONGEST_ETAG = 1024
_LINE = 8190
_REDIRECTS = {301, 302, 303, 307, 308}
_PASSING = {429, 500, 502, 503, 504}
_DENIED = {401, 403}


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a server.

    Attributes:
        url: The http or https URL.
        limit: How many bytes the file may have.
        etag: The ETag of a copy that the caller has; empty if there is none.
        credentials: What is sent to which host.
        timeout: Seconds for all of it.
        tracer: Is told what is sent and received, but for bodies.
    """

    url: str
    limit: int
    etag: str
    credentials: Credentials
    timeout: float
    tracer: Tracer | None = None


async def fetch(request: Request) -> Downloaded:
    """Return the file that a server sends.

    Raises:
        Unreachable: the host did not answer, or not as it should; another attempt may work.
        DownloadError: it cannot be downloaded, or is larger than the limit.
    """
    url = request.url
    timeout = aiohttp.ClientTimeout(total=request.timeout, sock_connect=10, sock_read=30)
    try:
        async with aiohttp.ClientSession(
            timeout=timeout,
            # A package is compressed already; what the server sends is what the digest is of.
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            max_line_size=_LINE,
        ) as session:
            return await _follow(session, request)
    except ssl.SSLCertVerificationError as error:
        raise DownloadError(_certificate(url, error)) from error
    except aiohttp.ClientConnectorCertificateError as error:
        raise DownloadError(_certificate(url, error.certificate_error)) from error
    except TimeoutError as error:
        raise Unreachable(f"failed to fetch {shown_url(url)} : no answer in time") from error
    except (aiohttp.ClientError, OSError) as error:
        raise Unreachable(f"failed to fetch {shown_url(url)} : {_reason(error)}") from error


async def _follow(session: aiohttp.ClientSession, request: Request) -> Downloaded:
    here = request.url
    for _ in range(_MOST_REDIRECTS + 1):
        try:
            async with _response(session, request, here) as response:
                target = response.headers.get("Location", "")
                if response.status not in _REDIRECTS or not target:
                    return await _answer(response, here, request)
        except (aiohttp.InvalidURL, UnicodeError) as error:
            # The second one is of a host that no name server can be asked for.
            raise DownloadError(f"cannot download {shown_url(here)}: not a URL") from error
        here = _redirected(here, target)
    raise DownloadError(f"failed to fetch {shown_url(request.url)} : more than 5 redirects")


@asynccontextmanager
async def _response(
    session: aiohttp.ClientSession, request: Request, url: str
) -> AsyncIterator[aiohttp.ClientResponse]:
    headers = {"User-Agent": f"KUDO/{__version__}", "Accept-Encoding": "identity"}
    # netrc is keyed by host; all the same, a redirect must not choose where a password goes.
    if origin(url) == origin(request.url):
        authorization = request.credentials.header(url)
        headers |= {"Authorization": authorization} if authorization else {}
    if request.etag:
        headers["If-None-Match"] = request.etag
    proxy, proxy_headers = _proxy(url)
    sent = Sent("GET", shown_url(url), masked(tuple(headers.items())), None)
    if request.tracer is not None:
        request.tracer.sent(sent)
    began = time.perf_counter()
    async with session.get(
        url,
        headers=headers,
        allow_redirects=False,
        proxy=proxy,
        proxy_headers=proxy_headers,
        ssl=_tls(url),
    ) as response:
        if request.tracer is not None:
            answered = masked(tuple(response.headers.items()))
            seconds = time.perf_counter() - began
            request.tracer.answered(sent, Answered(response.status, answered, seconds))
        yield response


async def _answer(response: aiohttp.ClientResponse, url: str, request: Request) -> Downloaded:
    limit, etag = request.limit, request.etag
    if response.status == 304 and etag:
        return Downloaded(None, etag)
    if response.status != 200:
        # The reason is chosen by the server, so it is not printed.
        text = f"failed to fetch {shown_url(url)} : {response.status} {_phrase(response.status)}"
        if response.status in _PASSING:
            raise Unreachable(text)
        hint = _login_hint(url) if response.status in _DENIED else ""
        raise DownloadError(f"{text}{hint}")
    if (response.content_length or 0) > limit:
        raise too_large(url, limit)
    content = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        content += chunk
        if len(content) > limit:
            raise too_large(url, limit)
    return Downloaded(bytes(content), _etag(response.headers.get("ETag", "")))


def _phrase(status: int) -> str:
    from http import HTTPStatus

    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "unknown status"


def _etag(text: str) -> str:
    return text if len(text) <= _LONGEST_ETAG and text.isascii() and text.isprintable() else ""


def _redirected(url: str, target: str) -> str:
    try:
        location = urljoin(url, target)
    except ValueError as error:
        text = "cannot follow the redirect: its Location is not a URL"
        raise DownloadError(f"failed to fetch {shown_url(url)} : {text}") from error
    fault = fault_of(location)
    if not fault and not is_remote(location):
        fault = "a server must not send readers to local files"
    if not fault and urlsplit(url).scheme == "https" and urlsplit(location).scheme == "http":
        fault = "a redirect from https to http is not followed"
    if fault:
        text = f"cannot follow the redirect to {shown_url(location)}: {fault}"
        raise DownloadError(f"failed to fetch {shown_url(url)} : {text}")
    return location


def _proxy(url: str) -> tuple[str | None, dict[str, str] | None]:
    """Return the proxy that the environment names for a URL, and headers with its credentials."""
    proxies, parts = getproxies(), urlsplit(url)
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None, None
    through = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    headers = None
    if through.username:
        # aiohttp sends it to the proxy as Proxy-Authorization.
        login = basic(unquote(through.username), unquote(through.password or ""))
        headers = {"Authorization": login}
    return urlunsplit(through._replace(netloc=through.netloc.rpartition("@")[2])), headers


def _tls(url: str) -> ssl.SSLContext | bool:
    # Made here, because aiohttp makes its own when it is imported: before SSL_CERT_FILE is known.
    return ssl.create_default_context() if url.startswith("https:") else True


def _login_hint(url: str) -> str:
    if not is_private(url):
        return "; credentials are sent only over https"
    return f"; give credentials in {TOKEN}, in {USERNAME} and {PASSWORD}, or in ~/.netrc"


def _certificate(url: str, error: BaseException) -> str:
    why = getattr(error, "verify_message", "") or "it is not valid"
    return (
        f"failed to fetch {shown_url(url)} : the certificate of the server is not trusted: {why}; "
        "for a CA of your own set SSL_CERT_FILE"
    )


def _reason(error: BaseException) -> str:
    match error:
        case aiohttp.ClientPayloadError():
            return "the answer ended too early"
        case aiohttp.ClientProxyConnectionError():
            return "the proxy of the environment cannot be reached"
        case aiohttp.ClientConnectorDNSError():
            return "the name of the host cannot be resolved"
        case aiohttp.ClientConnectorError():
            return reason_of(error.os_error)
        case aiohttp.ServerDisconnectedError():
            return "the server closed the connection"
        case OSError():
            return reason_of(error)
    return "the answer is not valid HTTP"
