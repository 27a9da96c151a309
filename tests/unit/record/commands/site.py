"""Where recorded commands run: an API server with the fixed set, a folder, a home."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kubeio.types import JsonObject
from tests.support.apiserver.cluster import START
from tests.support.apiserver.storage import Backup
from tests.support.apiserver.writes.admission import Review
from tests.support.instance_admission import InstanceAdmission
from tests.unit.cli.fake_api import FakeApi
from tests.unit.record.commands import instances, packages
from tests.unit.record.commands.console import environment
from tests.unit.record.placeholders import Placeholders, shifted

ROOT = Path(__file__).resolve().parents[4]
_AGE = timedelta(hours=30, minutes=10)
"""How old the fixed set is. An age of more than 8 hours is told by the hour."""
_EXAMPLES = "examples"
"""The folder that no command writes to."""
_KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: test
clusters:
  - name: test
    cluster: {{server: "{url}"}}
  - name: away
    cluster: {{server: "http://127.0.0.1:1"}}
contexts:
  - name: test
    context: {{cluster: test, user: test, namespace: ns}}
  - name: away
    context: {{cluster: away, user: test}}
users:
  - name: test
    user: {{}}
"""


class Api(FakeApi):
    """The server, which judges Instances as the webhooks of KUDO do."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0
        self.rules = InstanceAdmission(self.next_uid)

    def next_uid(self) -> str:
        self.numbers += 1
        return f"run-{self.numbers}"

    def mutate(self, review: Review) -> JsonObject:
        return self.rules.mutate(review)

    def validate(self, review: Review) -> None:
        self.rules.validate(review)


@dataclass
class Site:
    """Everything that a command line finds; `renew` makes it as it was at first.

    Attributes:
        folder: The working directory; it has the packages.
        home: Of the user; in it are the kubeconfig and the folder of KUDO.
    """

    api: Api
    folder: Path
    home: Path
    placeholders: Placeholders
    backup: Backup
    _packages: Path = field(repr=False)

    def renew(self, *, files: bool) -> None:
        """Restore the server, and the folder if anything may have written there."""
        api = self.api
        storage = api.cluster.server.storage
        api.do(lambda: storage.restore(self.backup))
        api.numbers, api.script, api.refusals, api.denied = 0, [], {}, set()
        # It keeps OperatorVersions by resourceVersion, and those begin again.
        api.rules = InstanceAdmission(api.next_uid, storage)
        self.forget_requests()
        if files:
            _copied(self._packages, self.folder)
            shutil.rmtree(self.home / ".kudo", ignore_errors=True)
            (self.home / ".kudo/repository").mkdir(parents=True)
            settings = self.home / ".kudo/repository/repositories.yaml"
            settings.write_text("repositories: []\n")

    def forget_requests(self) -> None:
        for requests in (self.api.requests, self.api.changes, self.api.dry_runs):
            requests.clear()

    def writes(self) -> list[str]:
        """Return method and path of what was written, and then of what was only tried."""
        return [*self.api.changes, *(f"{line} (dry run)" for line in self.api.dry_runs)]


def _copied(source: Path, folder: Path) -> None:
    for one in folder.iterdir():
        if one.name == _EXAMPLES:
            continue
        shutil.rmtree(one) if one.is_dir() else one.unlink()
    shutil.copytree(source, folder, dirs_exist_ok=True)


@contextmanager
def site(*, kudo: bool = True) -> Iterator[Site]:
    """Serve until the block ends.

    Args:
        kudo: Whether KUDO and the fixed set are there.
    """
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        folder, home, source = top / "folder", top / "home", top / "packages"
        for one in (folder, home / ".kudo", source):
            one.mkdir(parents=True)
        packages.write(source)
        api = Api()
        with api.running(kudo=kudo):
            server = api.cluster.server
            api.rules.storage = server.storage
            # What a command has deleted stays as the command has left it.
            server.storage.listeners[:] = [server.registry.follow]
            shift = datetime.now(UTC).replace(microsecond=0) - _AGE - START
            times = _load(api, shift) if kudo else frozenset()
            kubeconfig = home / "kubeconfig"
            kubeconfig.write_text(_KUBECONFIG.format(url=api.url))
            texts = {str(folder): "<folder>", str(home): "<home>", str(ROOT): "<repository>"}
            placeholders = Placeholders(shift, times, texts)
            backup = api._http.do(server.storage.backup)
            found = Site(api, folder, home, placeholders, backup, source)
            shutil.copytree(ROOT / _EXAMPLES, folder / _EXAMPLES)
            found.renew(files=True)
            variables = {"HOME": str(home), "KUBECONFIG": str(kubeconfig)}
            with environment(folder, variables):
                yield found


def _load(api: Api, shift: timedelta) -> frozenset[str]:
    """Store the fixed set, and return its times."""
    text, times = shifted(json.dumps(instances.stored()), shift)
    storage = api.cluster.server.storage

    def put() -> None:
        for (group, plural), obj in json.loads(text):
            storage.put((group, plural), obj)

    api.do(put)
    return times
