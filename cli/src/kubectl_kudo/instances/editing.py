"""`update --edit`: the parameters of an Instance in an editor, and a question before they are sent.

Each step that needs the cluster has a session of its own: the editor and the question may take
hours. What is refused is opened again, with the reason on top. The file is removed, since it has
the values of secrets, unless something in it could not be sent and the user gave up.
"""

import shutil
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from goyaml import NotTextError, decode
from kubectl_kudo.instances.answers import change_lines, nothing_changed
from kubectl_kudo.instances.updating import as_declared, finish
from kubectl_kudo.reading.changes import changes
from kubectl_kudo.reading.instance_state import flags_of
from kubectl_kudo.reading.parameter_file import (
    differences,
    parameter_file,
    read_values,
    with_fault,
    without_fault,
)
from kubectl_kudo.reading.runs import key_of
from kubectl_kudo.session.arguments import NONE, Args
from kubectl_kudo.session.asking import confirmed, on_terminal
from kubectl_kudo.session.dry_run import OnClient
from kubectl_kudo.session.editor import edit
from kubectl_kudo.session.errors import (
    CliError,
    ExitCode,
    UsageError,
    describe,
    exit_code,
    is_denied,
)
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.names import note_similar
from kubectl_kudo.session.output import JsonObject, talk
from kubectl_kudo.session.session import Session, in_session, report_of
from kubectl_kudo.session.writes import Writes
from kubeio.errors import ApiError, Conflict, Forbidden, KubeError, Unauthorized
from kudo.api.problems import InvalidInput
from kudo.parameters.settings import patch_of, plain_values, settings_of

_ATTEMPTS: Final = 5
"""Writes of one change, if the status of the Instance changes between reading and writing."""
Parameters = Mapping[str, str | None]
"""Values to set, by name; None removes a value."""
_Result = TypeVar("_Result")


def edit_parameters(args: Args) -> None:
    """Open the parameters in an editor, show what changes, ask, and send it.

    Raises:
        UsageError: stdin is not a terminal.
        CliError: the user gave up or said no, or the editor or a request failed.
    """
    if not on_terminal():
        raise UsageError(
            "--edit opens an editor, and stdin is not a terminal: set parameters with "
            "-p name=value or -P file"
        )
    state = _in_session(args, lambda session: _State.read(session, args.instance))
    # A folder that only the user can enter: editors write copies beside the file.
    folder = Path(tempfile.mkdtemp(prefix="kudo-edit-"))
    editing = _Editing(args, state, folder / f"{args.instance}.yaml")
    try:
        editing.run()
    finally:
        if not editing.is_kept:
            shutil.rmtree(folder, ignore_errors=True)


def _in_session(args: Args, work: Callable[[Session], Awaitable[_Result]]) -> _Result:
    """Connect, do the work, close the connection, and return the result."""
    results: list[_Result] = []

    async def run(session: Session) -> None:
        results.append(await work(session))

    in_session(args, run)
    return results[0]


@dataclass(frozen=True, slots=True)
class _State:
    """An Instance and its OperatorVersion, as they were read."""

    instance: JsonObject
    version: JsonObject

    @classmethod
    async def read(cls, session: Session, name: str) -> "_State":
        instance = await session.existing_instance(name)
        return cls(instance, await session.existing_version_of(instance))

    def has_spec_of(self, instance: JsonObject) -> bool:
        """Return whether another state of the Instance has this version and these parameters.

        Raises:
            CliError: it is another Instance.
        """
        if instance["metadata"]["uid"] != self.instance["metadata"]["uid"]:
            raise CliError(f"instance {key_of(instance)} was deleted and created again meanwhile")
        versions = [each["spec"].get("operatorVersion") for each in (self.instance, instance)]
        settings = [settings_of(each["spec"]) for each in (self.instance, instance)]
        return versions[0] == versions[1] and settings[0] == settings[1]


class _Refused(Exception):
    """What a file says cannot be sent as it is.

    Args:
        text: Why.
        code: The exit code if the user gives up.
        in_file: Whether line numbers in the text are those of the file.
    """

    def __init__(self, text: str, code: ExitCode, *, in_file: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.in_file = in_file


class _Declined(CliError):
    """The user does not want to send the changes."""


@dataclass(slots=True)
class _Editing:
    """One call of `update --edit`.

    Attributes:
        args: The command line.
        state: What the file was made of.
        path: The file.
        is_kept: Whether the file is to stay.
        is_sent: Whether the API server has accepted the change.
    """

    args: Args
    state: _State
    path: Path
    is_kept: bool = False
    is_sent: bool = False

    def run(self) -> None:
        """Open the file until what it says is sent, or changes nothing."""
        text = original = parameter_file(self.state.instance, self.state.version)
        refused: _Refused | None = None
        while True:
            shown = text
            if refused is not None:
                shown = with_fault(text, str(refused), in_file=refused.in_file)
            edited = self._edit(shown, original)
            # As with `kubectl edit`: who saves what was refused does not want to correct it.
            if refused is not None and edited == shown:
                raise self._give_up(str(refused), refused.code)
            text = without_fault(edited)
            try:
                self._apply(original, text)
            except _Refused as error:
                refused = error
                continue
            except (CliError, KubeError) as error:
                if self.is_sent or isinstance(error, _Declined):
                    raise
                raise self._give_up(describe(error) or str(error), exit_code(error)) from error
            else:
                return

    def _edit(self, shown: str, original: str) -> str:
        """Have the user edit a text; return what became of it."""
        self.path.touch(mode=0o600)
        self.path.write_text(shown, encoding="utf-8", newline="")
        try:
            edit(self.path)
        except CliError as error:
            # What was typed before the editor failed is not lost.
            if self._content() not in {shown, original}:
                raise self._give_up(str(error), error.code) from error
            raise
        return self._content()

    def _content(self) -> str:
        try:
            return decode(self.path.read_bytes())
        except (OSError, NotTextError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise CliError(f"{self.path} cannot be read: {reason}; nothing was sent") from error

    def _give_up(self, text: str, code: ExitCode) -> CliError:
        """Keep the file, and return the error that names it."""
        self.is_kept = True
        flags = flags_of(key_of(self.state.instance))
        return CliError(
            f"{text}\nYour file is kept, with all values in it: {self.path}\n"
            f"Correct it and send it: kubectl kudo update {flags} -P {self.path}",
            code=code,
        )

    def _apply(self, original: str, text: str) -> None:
        """Evaluate what a text says, ask, and send it.

        Raises:
            _Refused: it cannot be sent.
            CliError: the answer was no; errors of the API server are raised as well.
        """
        parameters = self._differences(original, text)
        if not parameters:
            report = report_of(self.args)
            nothing_changed(report, self.state.instance, "keeps its parameters")
            report.show(self.state.instance)
            return
        if self.args.dry_run != NONE:
            self._judged(lambda session: self._try(session, parameters))
            return
        while True:
            state = self._judged(lambda session: self._preview(session, parameters))
            if not self.args.yes and not confirmed("Change this?"):
                raise _Declined("nothing was changed")
            if self._judged(partial(self._send, state=state, parameters=parameters)):
                return
            talk("The instance has changed meanwhile.")

    def _differences(self, original: str, text: str) -> Parameters:
        """Return what a text changes; nothing if it is empty."""
        if not text.strip():
            return {}
        try:
            after = read_values(text, self.path.name)
        except InvalidInput as error:
            raise _Refused(str(describe(error)), ExitCode.USAGE, in_file=True) from error
        parameters = differences(read_values(original, self.path.name), after)
        values = {name: value for name, value in parameters.items() if value is not None}
        return {**parameters, **plain_values(as_declared(self.state.version, values))}

    def _judged(self, work: Callable[[Session], Awaitable[_Result]]) -> _Result:
        """Do work in a session; that the change is denied is something to correct."""
        try:
            return _in_session(self.args, work)
        except (CliError, ApiError) as error:
            if self.is_sent or not _is_denial(error):
                raise
            raise _Refused(str(describe(error)), exit_code(error)) from error

    async def _try(self, session: Session, parameters: Parameters) -> None:
        state = await _State.read(session, self.args.instance)
        after = await _write(session.writes, state, state.instance, parameters)
        await finish(session, self.args, state.instance, after, state.version)

    async def _preview(self, session: Session, parameters: Parameters) -> _State:
        """Print what would change, by the rules of admission; return what it was compared with."""
        state = await _State.read(session, self.args.instance)
        after = await _write(OnClient(session.client), state, state.instance, parameters)
        lines = changes(state.instance, after, state.version, state.version)
        for line in change_lines(state.instance, after, lines, dry=True):
            talk(line)
        return state

    async def _send(self, session: Session, state: _State, parameters: Parameters) -> bool:
        """Send the change; return False if it is another one than the user has agreed to.

        Raises:
            CliError: it is another Instance, or too many others write to it.
        """
        for _ in range(_ATTEMPTS):
            # The status may have changed any number of times since: only the spec has to be equal.
            instance = await session.existing_instance(self.args.instance)
            if not state.has_spec_of(instance):
                return False
            try:
                after = await _write(session.writes, state, instance, parameters)
            except Conflict:
                continue
            self.is_sent = True
            await finish(session, self.args, instance, after, state.version)
            return True
        raise CliError(f"others change instance {key_of(state.instance)} all the time; try again")


async def _write(
    writes: Writes, state: _State, instance: JsonObject, parameters: Parameters
) -> JsonObject:
    """Change the parameters of exactly this state of an Instance; return the result."""
    metadata = instance["metadata"]
    expected = {name: metadata[name] for name in ("uid", "resourceVersion")}
    patch = {"metadata": expected, "spec": patch_of(instance["spec"], parameters)}
    try:
        return await writes.merge_patch(INSTANCES, metadata["namespace"], metadata["name"], patch)
    except (ApiError, CliError) as error:
        declared = (state.version.get("spec") or {}).get("parameters") or ()
        note_similar(error, list(parameters), [str(each.get("name")) for each in declared])
        raise


def _is_denial(error: CliError | ApiError) -> bool:
    """Return whether the values are wrong, and not the rights of the user."""
    lacks_rights = isinstance(error, Forbidden | Unauthorized) and not is_denied(error)
    return exit_code(error) is ExitCode.DENIED and not lacks_rights
