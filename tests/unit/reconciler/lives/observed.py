"""What is seen of a life at the API server, and held against the promises; no tests of its own.

Every write of an Instance is held against `lifecycle_promises`, and those of records and of what
plans apply against `inventory.promises`. In addition: a Job is created once in a run, nothing of an
old run is written after anything of a newer one, and nothing is written for an Instance that is
known to be suspended.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import orjson

from kubeio.types import JsonObject
from kudo.api import Instance, OperatorVersion, names
from kudo.plans.runs.last_run import in_force, version_in_force
from tests.support.apiserver.cluster import moment
from tests.support.apiserver.server import ApiServer
from tests.support.apiserver.storage import Revision, StorageName
from tests.support.instance_admission import RECONCILER, InstanceAdmission
from tests.support.world.outcomes import is_of_job_task
from tests.unit.kudo.plans.runs.control_promises import SENT
from tests.unit.kudo.plans.runs.lifecycle_promises import assert_kept
from tests.unit.kudo.plans.runs.writes import Record, Write
from tests.unit.reconciler.lives.inventory.observed import INVENTORIES, Records
from tests.unit.reconciler.lives.job_promises import JobPromises

INSTANCES: Final = (names.GROUP, "instances")
VERSIONS: Final = (names.GROUP, "operatorversions")
EVENTS: Final = ("", "events")
PODS: Final = ("", "pods")
LATEST: Final = timedelta(seconds=60)
"""After which the reconciler has heard of a change, whatever delays or cuts its watches."""


@dataclass
class Story:
    """What is known of one Instance, by its uid.

    Attributes:
        order: uids of runs in the order in which something of them was first written.
        left_behind: uids of runs that the original recorded.
        gone: Whether it was deleted.
        let_go: Whether it was deleted without our finalizer, and so at once.
        suspended_from: Since when it has been suspended; None if it is not, or is being deleted.
        pause_known_from: When the reconciler first wrote a status of it in that pause.
    """

    name: str
    record: Record = field(default_factory=Record)
    order: list[str] = field(default_factory=list)
    left_behind: set[str] = field(default_factory=set)
    gone: bool = False
    let_go: bool = False
    suspended_from: datetime | None = None
    pause_known_from: datetime | None = None

    @property
    def held_up_since(self) -> datetime | None:
        """Since when, at the latest, the reconciler has known of the pause; None without one."""
        if self.suspended_from is None:
            return None
        latest = self.suspended_from + LATEST
        return min(latest, self.pause_known_from or latest)

    def follow_pause(self, instance: Instance, by: str) -> None:
        """Take up a state of the Instance."""
        if not instance.suspended:
            self.suspended_from = self.pause_known_from = None
        elif self.suspended_from is None:
            self.suspended_from = moment()
        elif by == "reconciler" and self.pause_known_from is None:
            self.pause_known_from = moment()

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
        records: What plans applied, and what is on record of it.
        job_tasks: The Jobs of Job tasks, of which there is no record.
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
        self._parsed_last: dict[str, tuple[str, Instance]] = {}
        self._known: defaultdict[str, list[OperatorVersion]] = defaultdict(list)
        self.records = Records(server, self._versions_of)
        self.job_tasks = JobPromises(server)
        server.storage.listeners.append(self._written)

    # What is seen

    def _written(self, name: StorageName, revision: Revision) -> None:
        try:
            if name == INSTANCES:
                self._instance(revision)
            elif name == EVENTS:
                self._event(revision.new)
            elif name == VERSIONS:
                found = OperatorVersion.from_wire(revision.new)
                self._known["/".join((found.metadata.namespace, found.metadata.name))].append(found)
            elif name != INVENTORIES:
                self._object(name, revision)
            self.records.follow(name, revision)
            self.job_tasks.follow(name, revision)
        except AssertionError as broken:
            self.broken.append(f"{broken} ({name[1]} {revision.new['metadata']['name']})")

    def _instance(self, revision: Revision) -> None:
        raw = revision.new
        uid = raw["metadata"]["uid"]
        new = self._parsed(raw)
        story = self.stories.setdefault(uid, Story(new.metadata.name))
        if revision.old is None:
            self._admitted(story, None, new)
            story.record.note(new)
            story.follow_pause(new, "user")
            return
        if revision.deleted:
            finalizers = revision.old["metadata"].get("finalizers", ())
            story.gone = True
            story.let_go = names.FINALIZER_CLEANUP not in finalizers
            return
        old = self._parsed(revision.old)
        by = self._by()
        if by != "reconciler":
            entries = new.plan_status.values()
            story.left_behind |= {entry.uid or "" for entry in entries} - story.record.begun
        if by == "user":
            self._admitted(story, old, new)
        pair = self.version(old), self.version(new)
        refusing = old.scheduled.uid in self.refused
        write = Write(
            old,
            new,
            by,
            story.record,
            pair,
            refusing,
            self.lawful,
            moment(),
            story.held_up_since,
            self.known_versions(new),
        )
        try:
            assert_kept(write)
            if by == "reconciler":
                self.job_tasks.hold_end(old, new)
                self.job_tasks.hold_outputs(new, self.known_versions(new))
        finally:
            story.record.note(new)
            story.follow_pause(new, by if old.status != new.status else "user")
        if by == "reconciler" and old.status != new.status and new.status.last_run is not None:
            run = new.status.last_run.uid or ""
            if run and run not in story.order:
                story.wrote(run)

    def _parsed(self, raw: JsonObject) -> Instance:
        """Parse a state once: what a write makes is what the next one finds."""
        metadata = raw["metadata"]
        version, found = self._parsed_last.get(metadata["uid"], ("", None))
        if found is None or version != metadata["resourceVersion"]:
            found = Instance.from_wire(raw)
            self._parsed_last[metadata["uid"]] = metadata["resourceVersion"], found
        return found

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
        if request is None or request.user != RECONCILER:
            return
        ends = request.method == "DELETE" and is_of_job_task(revision.new)
        if name != PODS and not ends:
            # Pods of Pipe tasks are removed after the end of their run, and active Jobs before it;
            # it may be in a pause.
            self._assert_may_write(revision)
        creates = request.method == "POST" and is_of_job_task(revision.new)
        if "apply" not in request.content_type and not creates:
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

    def _assert_may_write(self, revision: Revision) -> None:
        for owner in revision.new["metadata"].get("ownerReferences") or ():
            story = self.stories.get(owner["uid"])
            since = story.held_up_since if story is not None and not story.gone else None
            held_up = since is not None and moment() - since > SENT
            assert not held_up, f"written although suspended, which is known since {since}"

    def _event(self, event: JsonObject) -> None:
        about = event["involvedObject"]
        prefix, what = event["metadata"]["name"].rsplit(".", 1)
        run = prefix[len(about["name"]) + 1 :]
        self.events[about["uid"], run, what] = event

    # What is there

    def instance(self, name: str) -> JsonObject | None:
        """Return an Instance as it is stored."""
        return self.server.storage.table(INSTANCES).objects.get(("ns", name))

    def known_versions(self, instance: Instance) -> tuple[OperatorVersion, ...]:
        """Return every state of the OperatorVersion that the last run began with."""
        last = instance.status.last_run
        if last is None or not last.version:
            return ()
        found = self._known.get(last.version)
        namespace, _, name = last.version.partition("/")
        now = None if found else self._version((namespace, name))
        return tuple(found or ([now] if now is not None else ()))

    def _versions_of(self, instance: Instance) -> tuple[OperatorVersion, ...]:
        """Return every state of the OperatorVersions that an Instance names or ran with."""
        last = instance.status.last_run
        named = {"/".join(instance.operator_version_key), (last.version if last else "") or ""}
        return tuple(state for key in sorted(named) for state in self._known.get(key, ()))

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
