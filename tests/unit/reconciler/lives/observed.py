"""What is seen of a life at the API server, and held against the promises; no tests of its own.

Every write of an Instance is held against `lifecycle_promises`. In addition: a Job is created once
in a run, and nothing of an old run is written after anything of a newer one.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import orjson

from kubeio.types import JsonObject
from kudo import names
from kudo.api import Instance, OperatorVersion
from kudo.runs.last_run import in_force, version_in_force
from tests.support.apiserver.server import ApiServer
from tests.support.apiserver.storage import Revision, StorageName
from tests.support.instance_admission import RECONCILER, InstanceAdmission
from tests.unit.kudo.runs.lifecycle_promises import Record, Write, assert_kept

INSTANCES: Final = (names.GROUP, "instances")
VERSIONS: Final = (names.GROUP, "operatorversions")
EVENTS: Final = ("", "events")


@dataclass
class Story:
    """What is known of one Instance, by its uid.

    Attributes:
        order: uids of runs in the order in which something of them was first written.
        left_behind: uids of runs that the original recorded.
        gone: Whether it was deleted.
        let_go: Whether it was deleted without our finalizer, and so at once.
    """

    name: str
    record: Record = field(default_factory=Record)
    order: list[str] = field(default_factory=list)
    left_behind: set[str] = field(default_factory=set)
    gone: bool = False
    let_go: bool = False

    def wrote(self, run: str) -> None:
        """Note a write of a run.

        Raises:
            AssertionError: something of a newer run was written before.
        """
        if run not in self.order:
            self.order.append(run)
        assert run == self.order[-1], f"{run} writes after {self.order[-1]}"


class Observed:
    """Follows everything that is written.

    Attributes:
        broken: What went against a promise.
        refused: uids of runs that the reconciler said it refuses.
    """

    def __init__(self, server: ApiServer, admission: InstanceAdmission, *, lawful: bool) -> None:
        self.server = server
        self.lawful = lawful
        self.broken: list[str] = []
        self.refused: set[str] = set()
        self.stories: dict[str, Story] = {}
        self.jobs: Counter[tuple[str, str]] = Counter()
        self.events: dict[tuple[str, str, str], JsonObject] = {}
        self._admission = admission
        self._versions: dict[str, OperatorVersion] = {}
        server.storage.listeners.append(self._written)

    # What is seen

    def _written(self, name: StorageName, revision: Revision) -> None:
        try:
            if name == INSTANCES:
                self._instance(revision)
            elif name == EVENTS:
                self._event(revision.new)
            elif name != VERSIONS:
                self._object(name, revision)
        except AssertionError as broken:
            self.broken.append(f"{broken} ({name[1]} {revision.new['metadata']['name']})")

    def _instance(self, revision: Revision) -> None:
        raw = revision.new
        uid = raw["metadata"]["uid"]
        new = Instance.from_wire(raw)
        story = self.stories.setdefault(uid, Story(new.metadata.name))
        if revision.old is None:
            self._admitted(story, None, new)
            story.record.note(new)
            return
        if revision.deleted:
            finalizers = revision.old["metadata"].get("finalizers", ())
            story.gone = True
            story.let_go = names.FINALIZER_CLEANUP not in finalizers
            return
        old = Instance.from_wire(revision.old)
        by = self._by()
        if by != "reconciler":
            entries = new.plan_status.values()
            story.left_behind |= {entry.uid or "" for entry in entries} - story.record.begun
        if by == "user":
            self._admitted(story, old, new)
        pair = self.version(old), self.version(new)
        refusing = old.scheduled.uid in self.refused
        try:
            assert_kept(Write(old, new, by, story.record, pair, refusing, self.lawful))
        finally:
            story.record.note(new)
        if by == "reconciler" and old.status != new.status and new.status.last_run is not None:
            run = new.status.last_run.uid or ""
            if run and run not in story.order:
                story.wrote(run)

    def _by(self) -> str:
        request = self.server.serving
        if request is not None and request.user == RECONCILER:
            return "reconciler"
        return "user" if self._admission.validating else "nobody"

    def _admitted(self, story: Story, old: Instance | None, new: Instance) -> None:
        run = new.scheduled
        if run.plan_name and run.uid and (old is None or old.scheduled.uid != run.uid):
            story.record.admitted.add(run.uid)

    def _object(self, name: StorageName, revision: Revision) -> None:
        request = self.server.serving
        if request is None or request.user != RECONCILER or "apply" not in request.content_type:
            return
        metadata = orjson.loads(request.body)["metadata"]
        run = (metadata.get("annotations") or {}).get(names.ANNOTATION_PLAN_UID)
        owners = [one["uid"] for one in metadata.get("ownerReferences") or ()]
        if not run or not owners:
            return
        story = self.stories[owners[0]]
        if story.gone:
            # Until its event has come the reconciler goes on with an Instance that was deleted
            # without our finalizer; the collector takes away what that makes.
            return
        if name == ("batch", "jobs") and revision.old is None:
            self.jobs[metadata["name"], run] += 1
            assert self.jobs[metadata["name"], run] == 1, f"made twice in run {run}"
        story.wrote(run)

    def _event(self, event: JsonObject) -> None:
        about = event["involvedObject"]
        prefix, what = event["metadata"]["name"].rsplit(".", 1)
        run = prefix[len(about["name"]) + 1 :]
        self.events[about["uid"], run, what] = event

    # What is there

    def instance(self, name: str) -> JsonObject | None:
        """Return an Instance as it is stored."""
        return self.server.storage.table(INSTANCES).objects.get(("ns", name))

    def version(self, instance: Instance) -> OperatorVersion | None:
        return self._version(instance.operator_version_key)

    def version_in_force(self, instance: Instance) -> OperatorVersion | None:
        last = in_force(instance)
        return None if last is None else self._version(version_in_force(last))

    def _version(self, key: tuple[str, str]) -> OperatorVersion | None:
        raw = self.server.storage.table(VERSIONS).objects.get(key)
        if raw is None:
            return None
        version = raw["metadata"]["resourceVersion"]
        if version not in self._versions:
            self._versions[version] = OperatorVersion.from_wire(raw)
        return self._versions[version]
