"""Collects what a bug report needs into files, with a summary for people.

All objects are read before the first is written: a value that is secret in one of them is replaced
in all. Logs follow, since they may contain any of these values, and are never in memory whole.
"""

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, groupby
from pathlib import Path
from typing import Final

from kubectl_kudo import __version__
from kubectl_kudo.diagnostics import findings, installation_findings
from kubectl_kudo.diagnostics.bundle import Bundle, file_name, new_bundle
from kubectl_kudo.diagnostics.families import FamilyReader, Member, list_name
from kubectl_kudo.diagnostics.finding import Finding
from kubectl_kudo.diagnostics.installation import FOLDER, Installation, read_installation
from kubectl_kudo.diagnostics.logs import LogWriter, logs_of
from kubectl_kudo.diagnostics.reading import Failure, Reader
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, ExitCode, UsageError
from kubectl_kudo.session.names import name_fault
from kubectl_kudo.session.output import JsonObject, say, talk
from kubectl_kudo.session.session import Session, connect
from kubectl_kudo.session.terminal import clean, word
from kubeio.errors import ApiError
from kubeio.resource import EVENTS, PODS, Resource, split_api_version
from kudo.api.known_secrets import KnownValues
from kudo.redaction.objects import Redactor

_LOGS_AT_A_TIME: Final = 3
_PORT: Final = "prometheus.io/port"
SUMMARY: Final = "SUMMARY.txt"
_MOST_FINDINGS: Final = 100
_MOST_FAILURES: Final = 50
_LONGEST_LINE: Final = 200


def collect(args: Args) -> None:
    """Collect as the flags say, and print what looks wrong.

    Raises:
        CliError: a name is wrong, the target exists or cannot be written, or the Instance cannot
            be read; what was collected is there in the last case.
    """
    fault = name_fault("namespace", args.kudo_namespace) if args.kudo_namespace else ""
    if fault:
        raise UsageError(fault)
    target = Path(args.output_directory)
    with new_bundle(target) as bundle:
        text, problem = asyncio.run(_collect(args, bundle))
    say(text)
    if problem is not None:
        rest = f"{problem.text}; what else could be read is in {target}"
        raise CliError(rest, code=problem.code)
    talk(f"Collected into {target}. Look through it for secrets before you give it away.")


@dataclass(frozen=True, slots=True)
class _Problem:
    """Why what was asked for could not be collected."""

    text: str
    code: ExitCode


async def _collect(args: Args, bundle: Bundle) -> tuple[str, _Problem | None]:
    """Return the summary, and why the Instance could not be collected."""
    # What is wrong with the installation is to be collected; it must not end the command.
    args.validate_install = False
    async with connect(args) as session:
        # Deprecated kinds are read on purpose.
        session.client.on_warning = None
        collection = _Collection(args, session, bundle, Reader(session.client), datetime.now(UTC))
        return await collection.run()


@dataclass(slots=True)
class _Collection:
    args: Args
    session: Session
    bundle: Bundle
    reader: Reader
    now: datetime

    async def run(self) -> tuple[str, _Problem | None]:
        with suppress(ApiError):
            # Where nothing answers, this ends the command: all other requests would wait, too.
            await self.session.client.server_version()
        talk("Collect objects")
        members = await FamilyReader(self.reader, self.session.namespace).members(
            self.args.instance
        )
        installation = await read_installation(self.reader, self.args.kudo_namespace)
        redactor = self._redactor(members, installation)
        self._write_objects(members, installation, redactor)
        last_lines = await self._write_logs(members, installation, redactor)
        text = redactor.text(self._summary(members, installation, last_lines))
        for failure in self.reader.failures:
            self.bundle.append(failure.path, f"{redactor.text(failure.text)}\n")
        self.bundle.write_text(SUMMARY, f"{text}\n")
        return text, self._problem(members)

    def _problem(self, members: list[Member]) -> _Problem | None:
        """Return why there are no Instances among what was collected, if there should be one."""
        said = {failure.path: failure.text for failure in self.reader.failures}
        if not self.args.instance:
            unread = "instances.err" in said and not members
            return _Problem("no instances can be read", ExitCode.DENIED) if unread else None
        if members[0].instance is not None:
            return None
        where = f"instance {self.args.instance} in namespace {self.session.namespace}"
        why = said.get("instance.err", "")
        if "not found" in why:
            return _Problem(f"{where} does not exist in the cluster", ExitCode.NOT_FOUND)
        return _Problem(f"{where}: {why}", ExitCode.DENIED)

    def _redactor(self, members: list[Member], installation: Installation) -> Redactor:
        """Return what knows the secrets of all objects."""
        names = {self.session.namespace, installation.namespace}
        for member in members:
            names |= {str(obj["metadata"].get("name")) for obj in member.everything()}
        names |= {str(obj["metadata"].get("name")) for obj in installation.everything()}
        # Names are no secrets, even if a Secret has one as its value: files and texts need them.
        redactor = Redactor(KnownValues(names))
        # All at once: which parameters of one Instance are secret, templates of another may say.
        own = chain.from_iterable(member.everything() for member in members)
        redactor.learn(chain(own, installation.everything()))
        return redactor

    def _write_objects(
        self, members: list[Member], installation: Installation, redactor: Redactor
    ) -> None:
        self.bundle.write_object("version.yaml", {"gitversion": __version__})
        settings = {
            "context": self.args.context,
            "home": self.args.home,
            "kubeconfig": self.args.kubeconfig or os.environ.get("KUBECONFIG", ""),
            "namespace": self.session.namespace,
            "requesttimeout": self.args.request_timeout,
        }
        self.bundle.write_object("settings.yaml", redactor.redact(settings))
        for member in members:
            self._write_member(member, redactor)
        self._write_lists(FOLDER, installation.objects, redactor)
        self._write_list(f"{FOLDER}webhooks", installation.webhooks, redactor)
        self._write_list(f"{FOLDER}crds", installation.crds, redactor)
        self._write_list(f"{FOLDER}eventlist", installation.events, redactor)
        if installation.version is not None:
            self.bundle.write_object(f"{FOLDER}cluster.yaml", installation.version)

    def _write_member(self, member: Member, redactor: Redactor) -> None:
        if member.operator is not None:
            name = file_name(member.operator["metadata"]["name"])
            self._write(f"{member.operator_folder}{name}.yaml", member.operator, redactor)
        if member.version is not None:
            name = file_name(member.version["metadata"]["name"])
            folder = f"{member.operator_folder}operatorversion_{name}/"
            self._write(f"{folder}{name}.yaml", member.version, redactor)
        if member.instance is not None:
            self._write(f"{member.folder}{file_name(member.name)}.yaml", member.instance, redactor)
        self._write_lists(member.folder, member.objects, redactor)
        self._write_list(f"{member.folder}{list_name(EVENTS)}", member.events, redactor)

    def _write_lists(self, folder: str, objects: Iterable[JsonObject], redactor: Redactor) -> None:
        """Write pods one by one, and all other objects in a list for each kind."""
        ordered = sorted(objects, key=lambda obj: (_list_name(obj), str(obj["metadata"]["name"])))
        for path, same in groupby(ordered, key=_list_name):
            if path == list_name(PODS):
                for pod in same:
                    name = file_name(pod["metadata"]["name"])
                    self._write(f"{_folder_of(folder, pod)}{name}.yaml", pod, redactor)
            else:
                self._write_list(f"{folder}{path}", list(same), redactor)

    def _write_list(self, path: str, objects: list[JsonObject], redactor: Redactor) -> None:
        if objects:
            self._write(
                f"{path}.yaml", {"apiVersion": "v1", "kind": "List", "items": objects}, redactor
            )

    def _write(self, path: str, obj: JsonObject, redactor: Redactor) -> None:
        self.bundle.write_object(path, redactor.redact(obj))

    async def _write_logs(
        self, members: list[Member], installation: Installation, redactor: Redactor
    ) -> dict[str, tuple[str, ...]]:
        """Write logs and metrics, and return the last lines of logs by pod and container."""
        writer = LogWriter(
            self.reader, self.bundle, redactor, self.args.log_limit, self.args.log_since
        )
        pods = [(FOLDER, pod) for pod in installation.of(PODS)]
        pods += [(member.folder, pod) for member in members for pod in member.pods]
        talk(f"Collect Logs for {len(pods)} pods")
        logs = [log for folder, pod in pods for log in logs_of(pod, _folder_of(folder, pod))]
        # Those of our own services, and after them those of containers that were restarted.
        logs.sort(key=lambda log: (not log.path.startswith(FOLDER), not log.previous))
        waiting = iter(logs)

        async def work() -> None:
            for log in waiting:
                await writer.write(log)

        await asyncio.gather(*(work() for _ in range(_LOGS_AT_A_TIME)))
        for pod in installation.of(PODS):
            metadata = pod["metadata"]
            port = str((metadata.get("annotations") or {}).get(_PORT) or "")
            if port.isdecimal() and (pod.get("status") or {}).get("phase") == "Running":
                name = f"{metadata['name']}:{port}"
                address = PODS.path(metadata["namespace"], name, "proxy/metrics")
                await writer.write_metrics(f"{_folder_of(FOLDER, pod)}metrics", address)
        last_lines: dict[str, tuple[str, ...]] = {}
        # Of a restarted container those before the restart: they say why it ended.
        for log in sorted(logs, key=lambda log: log.previous):
            lines = writer.last_lines.get(f"{log.path}.log")
            if lines:
                last_lines[f"{log.pod['metadata']['name']}/{log.container}"] = lines
        return last_lines

    def _summary(
        self,
        members: list[Member],
        installation: Installation,
        last_lines: dict[str, tuple[str, ...]],
    ) -> str:
        looks_wrong = [
            *installation_findings.of_installation(
                installation, installation_findings.until_when_valid(installation), self.now
            ),
            *chain.from_iterable(findings.of_instance(member, self.now) for member in members),
            *chain.from_iterable(
                findings.of_objects(member, last_lines, self.now) for member in members
            ),
            *chain.from_iterable(
                findings.of_pod(pod, last_lines, self.now) for pod in installation.of(PODS)
            ),
            *findings.of_events(members),
        ]
        return summary(
            [member.name for member in members], looks_wrong, self.reader.failures, self.now
        )


def _list_name(obj: JsonObject) -> str:
    group, version = split_api_version(str(obj.get("apiVersion") or ""))
    return list_name(Resource(group, version, str(obj["kind"]), "", namespaced=True))


def _folder_of(folder: str, pod: JsonObject) -> str:
    return f"{folder}pod_{file_name(pod['metadata']['name'])}/"


def summary(
    instances: Sequence[str],
    findings: Sequence[Finding],
    failures: Sequence[Failure],
    now: datetime,
) -> str:
    """Return the text of the summary."""
    return clean("\n".join(_lines(instances, findings, failures, now)))


def _lines(
    instances: Sequence[str],
    findings: Sequence[Finding],
    failures: Sequence[Failure],
    now: datetime,
) -> Iterator[str]:
    names = ", ".join(instances[:20]) + (", ..." if len(instances) > 20 else "")
    yield f"Instances: {names or 'none'}; collected on {now:%Y-%m-%d %H:%M:%S} UTC"
    yield ""
    if findings:
        yield "What looks wrong:"
        for finding in findings[:_MOST_FINDINGS]:
            yield word(f"* {finding.subject}: {finding.text}")
            if finding.advice:
                yield word(f"    {finding.advice}")
            for line in finding.lines:
                yield f"    | {_cut(line)}"
        yield from _more(len(findings) - _MOST_FINDINGS)
    else:
        yield "Nothing looks wrong."
    if failures:
        yield ""
        yield "What could not be read:"
        # A user with few rights cannot list most kinds, and a cluster may have hundreds of them.
        ours_first = sorted(failures, key=lambda failure: not failure.path.startswith(FOLDER))
        for failure in ours_first[:_MOST_FAILURES]:
            yield f"  {failure.path}: {_cut(failure.text)}"
        yield from _more(len(failures) - _MOST_FAILURES)


def _more(number: int) -> Iterator[str]:
    if number > 0:
        yield f"... and {number} more"


def _cut(text: str) -> str:
    flat = word(" ".join(text.split()))
    return flat if len(flat) <= _LONGEST_LINE else f"{flat[:_LONGEST_LINE]}..."
