"""The job `render`: the templates of one task, and what is read from their texts.

The answer is a line of JSON for each thing that was made, so that the side that asked can decode
one at a time and give its event loop back in between. JSON has no line breaks of its own.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

import orjson

from kudo.api import JsonObject
from kudo.api.problems import InvalidInput, shown_name
from kudo.api.task_kinds import FatalTaskError
from kudo.api.task_kinds.job import templates_in, texts_of
from kudo.jobs.position import position
from kudo.parameters.sources import parse_parameter_file
from kudo.parameters.template import RawParameter
from kudo.tasks.job import RenderedJob, rendered_job
from kudo.tasks.pipe import read_pod
from kudo.tasks.rendering import (
    Engine,
    Manifest,
    Variables,
    integer_problem,
    render,
    render_named,
    render_objects,
)

NAME: Final = "render"
_CPU_SECONDS: Final = 8.0
"""Of one request; below the limit of the worker, so that the error can name the template."""

Outputs = Mapping[str, Mapping[str, str]]
Output = Literal["objects", "parameters", "pod", "job", "texts"]
Made = tuple[Manifest, ...] | Mapping[str, str] | JsonObject | RenderedJob


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be rendered.

    Attributes:
        output: What the rendered texts are: Kubernetes objects, the parameter file of a child, the
            pod of a Pipe task, all of a Job task, or just texts. There is one template of a
            parameter file or pod.
        resources: Names of templates.
        templates: Their texts; a missing one is an error when its turn comes.
        variables: What they can refer to.
        task: Name of the task, of a Job task or where texts of its fields are rendered.
        job: Its fields, whose texts are templates.
    """

    output: Output
    resources: tuple[str, ...]
    templates: Mapping[str, str]
    variables: Variables
    task: str = ""
    job: JsonObject | None = None

    @property
    def size(self) -> int:
        """Characters of templates, parameters and outputs."""
        outputs = cast("Outputs", self.variables.fixed.get("Outputs") or {})
        texts = sum(map(len, self.templates.values()))
        texts += sum(len(text) for of_task in outputs.values() for text in of_task.values())
        texts += sum(len(text) for _, text in texts_of(self.job))
        given = (*self.variables.parameters, *(self.variables.run_parameters or ()))
        return texts + sum(len(parameter.text or "") for parameter in given)

    @property
    def number(self) -> int:
        """How many templates are rendered."""
        return len(self.resources) + sum(1 for _ in templates_in(self.job or {}))

    def encode(self) -> bytes:
        return orjson.dumps(
            {
                "output": self.output,
                "resources": self.resources,
                "templates": dict(self.templates),
                "fixed": dict(self.variables.fixed),
                "parameters": [list(parameter) for parameter in self.variables.parameters],
                "outputsKnown": self.variables.outputs_known,
                "runParameters": None
                if self.variables.run_parameters is None
                else [list(parameter) for parameter in self.variables.run_parameters],
                "runParametersKnown": self.variables.run_parameters_known,
                "task": self.task,
                "job": self.job,
            }
        )

    @classmethod
    def decode(cls, request: bytes) -> "Request":
        fields = orjson.loads(request)
        parameters = tuple(RawParameter(*parameter) for parameter in fields["parameters"])
        given = fields["runParameters"]
        variables = Variables(
            fields["fixed"],
            parameters,
            fields["outputsKnown"],
            None if given is None else tuple(RawParameter(*parameter) for parameter in given),
            fields["runParametersKnown"],
        )
        return cls(
            fields["output"],
            tuple(fields["resources"]),
            fields["templates"],
            variables,
            fields["task"],
            fields["job"],
        )


def made_of(
    request: Request,
    engine: Engine,
    values: Mapping[str, object],
    *,
    begin: Callable[[str], None] | None = None,
    expired: Callable[[], bool] | None = None,
) -> Iterator[Made | None]:
    """Render a request text by text: what each makes, None where it is but a part of something.

    Whoever iterates may do something else after each text.

    Args:
        request: The request.
        engine: What renders, and what that may cost.
        values: The variables, read.
        begin: Called with the name of each text before it is rendered.
        expired: Asked now and then whether rendering has taken too long.

    Raises:
        FatalTaskError: a text cannot be rendered, or gives something else than is wanted.
    """
    if request.job is not None:
        yield from rendered_job(
            request.task,
            request.job,
            request.templates,
            values,
            engine=engine,
            begin=begin,
            expired=expired,
        )
        return
    for resource in dict.fromkeys(request.resources):
        if begin is not None:
            begin(f'template "{shown_name(resource)}"')
        yield make(request, engine, values, resource=resource, expired=expired)


def make(
    request: Request,
    engine: Engine,
    values: Mapping[str, object],
    *,
    resource: str,
    expired: Callable[[], bool] | None = None,
) -> Made:
    """Render one of the templates of a request, and read what it gives.

    Args:
        request: The request.
        engine: What renders, and what that may cost.
        values: The variables, read.
        resource: Name of the template.
        expired: Asked now and then whether rendering has taken too long.

    Raises:
        FatalTaskError: the template cannot be rendered, or gives something else than is wanted.
    """
    templates = request.templates
    if request.output == "objects":
        return render_objects((resource,), templates, values, engine=engine, expired=expired)
    if request.output == "texts":
        what, text = f"task {shown_name(request.task)}: {resource}", templates[resource]
        done = render(resource, text, values, what=what, engine=engine, expired=expired)
        return {resource: done}
    text = render_named(resource, templates, values, engine=engine, expired=expired)
    if request.output == "pod":
        return _pod(text, engine)
    try:
        return parse_parameter_file(resource, text, engine.budget)
    except InvalidInput as error:
        limit = getattr(error, "limit", "")
        raise FatalTaskError("TaskRenderingError", str(error), limit=limit) from error


def _pod(text: str, engine: Engine) -> JsonObject:
    pod = read_pod(text, engine.budget)
    problem = integer_problem(pod)
    if problem is not None:
        raise FatalTaskError("ResourceUnmarshalError", f"pipe pod cannot be read: {problem}")
    return pod


def handle(request: bytes) -> bytes:
    """Render with the full limits. The first line of the answer is the error, or null."""
    asked = Request.decode(request)
    try:
        lines = list(_lines(asked))
    except FatalTaskError as error:
        return orjson.dumps([error.reason, str(error), error.limit])
    return b"\n".join([b"null", *lines])


def _lines(request: Request) -> Iterator[bytes]:
    # CPU time, since the machine may be busy with others; a template that waits cannot be written.
    until = time.process_time() + _CPU_SECONDS
    engine = Engine.full(request.variables)
    values = request.variables.read(
        engine.budget, lambda name: position.tell(f'parameter "{shown_name(name)}"')
    )
    parts = made_of(
        request,
        engine,
        values,
        begin=position.tell,
        expired=lambda: time.process_time() > until,
    )
    for made in parts:
        if isinstance(made, tuple):
            for manifest in made:
                yield orjson.dumps({"template": manifest.template, "object": manifest.object})
        elif made is not None:
            yield orjson.dumps(made)


def decode_answer(answer: bytes) -> Iterator[tuple[int, Any]]:
    """Yield what was made, decoded one at a time, each after the number of its bytes.

    Raises:
        FatalTaskError: as the worker raised it.
    """
    lines = _split(answer)
    error = orjson.loads(next(lines))
    if error is not None:
        reason, message, limit = error
        raise FatalTaskError(reason, message, limit=limit)
    yield from ((len(line), orjson.loads(line)) for line in lines)


def manifest(item: JsonObject) -> Manifest:
    """Return an item of the answer as a manifest."""
    return Manifest(item["template"], item["object"])


def _split(answer: bytes) -> Iterator[memoryview]:
    """Yield the lines without copying them all at once."""
    view, start = memoryview(answer), 0
    while (end := answer.find(b"\n", start)) >= 0:
        yield view[start:end]
        start = end + 1
    yield view[start:]
