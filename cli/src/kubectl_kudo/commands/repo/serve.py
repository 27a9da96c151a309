"""`kubectl kudo repo serve`: serves a folder of packages as a repository, to try it."""

import shutil
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from kubectl_kudo.commands.repo.index import index_of
from kubectl_kudo.repositories.home import sha256
from kubectl_kudo.session.arguments import Args, Flag
from kubectl_kudo.session.blocks import printable
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, UsageError
from kubectl_kudo.session.output import say, talk
from kudo.packages.repositories.index import INDEX_FILE, write_index

_TIMEOUT = 30


def run(args: Args) -> None:
    """Serve the folder until ctrl-C, which is the regular end.

    Raises:
        CliError: the folder has no packages, or the address cannot be listened on.
    """
    if len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError("expecting exactly one argument - directory of the packages to serve")
    folder = Path(args.arguments[0]).expanduser().absolute()
    host, port = _address(args.address)
    # Only to say what is wrong before anything is served: each request builds its own.
    index_of(folder, "http://localhost/", skip_verify=True)
    try:
        server = ThreadingHTTPServer((host, port), partial(_Handler, folder))
    except OSError as error:
        text = f"cannot listen on {args.address}: {error.strerror or error}"
        raise CliError(f"{text}; choose another address with --address") from error
    server.daemon_threads = True
    with server, suppress(KeyboardInterrupt):
        url = f"http://{host}:{server.server_port}"
        say(f"Serving {folder} at {url}")
        talk(f"To use it: kubectl kudo repo add <name> {url}; stop with ctrl-C")
        server.serve_forever()


COMMAND = Command(
    run,
    "<folder>",
    (
        Flag(
            ("--address",),
            "address and port to listen on (default: 127.0.0.1:8080; port 0: any free one)",
            "host:port",
            "127.0.0.1:8080",
        ),
    ),
    more="For trying packages on this machine: without TLS and without credentials. The index is "
    "made\nof the .tgz files at each request and not written; only they are served.",
    examples=(("Then: kubectl kudo repo add own http://127.0.0.1:8080", "repo serve dist"),),
)


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (colon and port.isascii() and port.isdigit() and int(port) < 65536):
        raise UsageError(f'invalid argument "{text}" for "--address" flag: not host:port')
    return host, int(port)


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD of the index and of `.tgz` files in the folder itself."""

    timeout = _TIMEOUT

    def __init__(self, folder: Path, *args: object) -> None:
        self._folder = folder
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        talk(printable(format % args))

    def _answer(self, *, body: bool) -> None:
        name = unquote(urlsplit(self.path).path).removeprefix("/")
        if name == INDEX_FILE:
            self._index(body=body)
        elif name in self._packages():
            self._file(self._folder / name, body=body)
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _packages(self) -> set[str]:
        # A name that is not in the folder itself is not served, whatever dots and links say.
        return {path.name for path in self._folder.glob("*.tgz") if path.is_file()}

    def _index(self, *, body: bool) -> None:
        port = self.connection.getsockname()[1]
        base = f"http://{self.headers.get('Host') or f'localhost:{port}'}"
        try:
            content = write_index(index_of(self._folder, base, skip_verify=True)).encode()
        except CliError:
            content = b"apiVersion: v1\nentries: {}\n"
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/yaml")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{sha256(content)}"')
        self.end_headers()
        if body:
            self.wfile.write(content)

    def _file(self, path: Path, *, body: bool) -> None:
        with path.open("rb") as file:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "application/gzip")
            self.send_header("Content-Length", str(path.stat().st_size))
            self.end_headers()
            if body:
                shutil.copyfileobj(file, self.wfile)
