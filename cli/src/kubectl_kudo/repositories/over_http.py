"""Downloads a file over http or https, in one attempt.

The session is that of `kubeio`, with its bounds and errors, which quote nothing of an answer.
Redirects are followed here, so that each step decides anew whether credentials belong to the host.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import quote, urljoin, urlsplit

from kubectl_kudo import __version__
from kubectl_kudo.repositories.urls import (
    PASSWORD,
    TOKEN,
    USERNAME,
    Credentials,
    Downloaded,
    DownloadError,
    Unreachable,
    fault_of,
    is_private,
    is_remote,
    origin,
    shown_url,
    too_large,
)
from kubeio.connection.config import ClusterConfig
from kubeio.connection.http.errors import HttpError, Untrusted
from kubeio.connection.http.exchange import Request as Sending
from kubeio.connection.http.response import Response
from kubeio.connection.http.session import Session
from kubeio.connection.tls import Pem, Tls, proxy_from_environment
from kubeio.connection.tracing import Answered, Sent, Tracer, masked

_PAUSE = 30.0
_MOST_REDIRECTS = 5
_LONGEST_ETAG = 1024
_QUOTED = "%/:@!$&'()*+,;=~?[]"
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
    failed = f"failed to fetch {shown_url(request.url)} :"
    try:
        async with asyncio.timeout(request.timeout):
            here = request.url
            for _ in range(_MOST_REDIRECTS + 1):
                async with _response(request, here) as response:
                    target = _value(response, "Location")
                    if response.status not in _REDIRECTS or not target:
                        return await _answer(response, here, request)
                here = _redirected(here, target)
    except Untrusted as error:
        why = str(error).rpartition("certificate verify failed: ")[2]
        text = f"the certificate of the server is not trusted: {why}"
        raise DownloadError(f"{failed} {text}; for a CA of your own set SSL_CERT_FILE") from error
    except TimeoutError as error:
        raise Unreachable(f"{failed} no answer in time") from error
    except (HttpError, OSError) as error:
        raise Unreachable(f"{failed} {error}") from error
    raise DownloadError(f"{failed} more than {_MOST_REDIRECTS} redirects")


@asynccontextmanager
async def _response(request: Request, url: str) -> AsyncIterator[Response]:
    headers: tuple[tuple[str, str], ...] = ()
    # netrc is keyed by host; all the same, a redirect must not choose where a password goes.
    if origin(url) == origin(request.url):
        authorization = request.credentials.header(url)
        headers = (("Authorization", authorization),) if authorization else ()
    if request.etag:
        headers = (*headers, ("If-None-Match", request.etag))
    parts = urlsplit(url)
    query = f"?{quote(parts.query, safe=_QUOTED)}" if parts.query else ""
    path = quote(parts.path, safe=_QUOTED.replace("?", "")) or "/"
    sending = Sending("GET", f"{path}{query}", headers=headers)
    # A session for each step: a redirect may lead to another host.
    session = _session(url)
    try:
        sent = Sent("GET", shown_url(url), masked(headers), None)
        if request.tracer is not None:
            request.tracer.sent(sent)
        began = time.perf_counter()
        try:
            response = await session.send(sending, idle_timeout=_PAUSE)
        except ValueError as error:
            raise _no_url(url) from error
        try:
            if request.tracer is not None:
                seconds = time.perf_counter() - began
                answered = Answered(response.status, masked(response.headers), seconds)
                request.tracer.answered(sent, answered)
            yield response
        finally:
            response.close()
    finally:
        await session.close()


def _session(url: str) -> Session:
    parts = urlsplit(url)
    server = f"{parts.scheme}://{parts.netloc}"
    try:
        proxy = proxy_from_environment(server)
        if proxy and urlsplit(proxy).scheme not in ("http", "https"):
            raise DownloadError("only http and https proxies are supported; see HTTPS_PROXY")
        tls = None
        if parts.scheme == "https":
            tls = Tls()
            tls.load(ca=Pem(), cert=Pem(), key=Pem())
        config = ClusterConfig(
            server,
            tls=tls,
            proxy=proxy,
            user_agent=f"KUDO/{__version__}",
            # What the server sends is what the digest is of; a package is compressed already.
            compression=False,
        )
        return Session(config, limit=0)
    except ValueError as error:
        raise _no_url(url) from error


async def _answer(response: Response, url: str, request: Request) -> Downloaded:
    limit, etag = request.limit, request.etag
    if response.status == 304 and etag:
        return Downloaded(None, etag)
    if response.status != 200:
        # The server chooses the reason in its answer, so that one is not printed.
        try:
            phrase = HTTPStatus(response.status).phrase
        except ValueError:
            phrase = "unknown status"
        text = f"failed to fetch {shown_url(url)} : {response.status} {phrase}"
        if response.status in _PASSING:
            raise Unreachable(text)
        if response.status not in _DENIED:
            raise DownloadError(text)
        if not is_private(url):
            raise DownloadError(f"{text}; credentials are sent only over https")
        raise DownloadError(
            f"{text}; give credentials in {TOKEN}, in {USERNAME} and {PASSWORD}, or in ~/.netrc"
        )
    announced = _value(response, "Content-Length")
    if announced.isdecimal() and int(announced) > limit:
        raise too_large(url, limit)
    # A server may announce no length, or a wrong one.
    content = bytearray()
    async for chunk in response.raw():
        content += chunk
        if len(content) > limit:
            raise too_large(url, limit)
    etag = _value(response, "ETag")
    # It is stored in a line of the cache, and sent back as a header.
    is_usable = len(etag) <= _LONGEST_ETAG and etag.isascii() and etag.isprintable()
    return Downloaded(bytes(content), etag if is_usable else "")


def _value(response: Response, name: str) -> str:
    return next(iter(response.values(name)), "")


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


def _no_url(url: str) -> DownloadError:
    return DownloadError(f"cannot download {shown_url(url)}: not a URL")
