"""The job `version`: answers the AdmissionReview of an OperatorVersion, whatever its size.

Its rules compile templates, and comparing two specs takes as long as parsing them, so none of it is
done on an event loop. The request is the body, the answer that of `kudo.jobs.review`.

This module is what the workers of the webhook are started with in strict mode.
"""

from collections.abc import Callable, Mapping
from typing import Final

import orjson
from pydantic import ValidationError

import gotemplate
from kudo.admission.envelope import ALLOWED, OPERATOR_VERSION, AdmissionReview, Answer, read_review
from kudo.admission.tenancy import LONGEST_GRANT
from kudo.admission.version_rules import REASON, version_problems, version_warnings
from kudo.api import Json, JsonObject, OperatorVersion
from kudo.api.bounds import too_large
from kudo.api.names import ANNOTATION_ALLOW_FROM
from kudo.api.problems import MOST_PROBLEMS, Problem, first_problems, shown, shown_name
from kudo.api.task_kinds import DEFAULT_KIND
from kudo.jobs import review as review_job
from kudo.jobs.position import position
from kudo.jobs.position import report_to as report_to  # for the process that is started with it

_KEY: Final = 320
_PATH_PARTS: Final = 10


def handle(request: bytes) -> bytes:
    """Return the answer to a review."""
    return review_job.answered(_answer, request)


def _answer(request: bytes) -> bytes:
    review = read_review(request, review_job.parse, kind=OPERATOR_VERSION)
    return review_job.encode_answer(review, _decided(review) if review.needs_review else ALLOWED)


def _decided(review: AdmissionReview) -> Answer:
    if review.old_object is None:
        return _created(review)
    if review.object.get("spec") == review.old_object.get("spec"):
        # Labels, grants and finalizers.
        return ALLOWED
    # Also while it is being deleted: Instances use it as long as a finalizer keeps it.
    text = "its spec cannot be changed, as Instances run with it; create another OperatorVersion"
    return _denied(review, (Problem("OperatorVersionImmutable", text, "spec"),), "update")


def _created(review: AdmissionReview) -> Answer:
    spec = review.object.get("spec")
    too_many = too_large(spec)
    if too_many:
        problem = Problem(REASON, too_many, "spec", limit="entries")
        return _denied(review, (problem,), "create")
    try:
        version = OperatorVersion.from_wire({"spec": {} if spec is None else spec})
    except ValidationError as error:
        return _denied(review, _unreadable(error), "create")
    problems = version_problems(version, position.tell)
    if problems:
        return _denied(review, problems, "create")
    return Answer(warnings=(*version_warnings(version), *_grant_warnings(review.object)))


def _denied(review: AdmissionReview, problems: tuple[Problem, ...], verb: str) -> Answer:
    """Return the denial, whose first message says what the request tried to do."""
    key = shown(f"{review.namespace}/{review.name or '(generated name)'}", _KEY)
    first, *rest = problems
    text = f"failed to {verb} OperatorVersion {key}: {first.message}"
    denial = Problem(first.reason, text, first.field, first.limit)
    return Answer((denial, *rest), code=413 if first.limit else 403)


def _unreadable(error: ValidationError) -> tuple[Problem, ...]:
    entries = error.errors(include_url=False, include_input=False, include_context=False)
    first, problems = entries[:MOST_PROBLEMS], list[Problem]()
    for entry in first:
        # The location has names of the author, of any length and number.
        field = ".".join(shown_name(str(part)) for part in entry["loc"][:_PATH_PARTS])
        problems.append(Problem(REASON, f"{field}: {entry['msg']}", field))
    return first_problems(problems, beside=len(entries) - len(first))


def _grant_warnings(raw: JsonObject) -> tuple[str, ...]:
    metadata = raw.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    grant = annotations.get(ANNOTATION_ALLOW_FROM) if isinstance(annotations, dict) else None
    if not isinstance(grant, str) or len(grant) <= LONGEST_GRANT:
        return ()
    text = f"only the first {LONGEST_GRANT} characters of annotation {ANNOTATION_ALLOW_FROM} count"
    return (f'{text}; "*" grants it to all namespaces',)


_SAMPLE: Final[Json] = {
    "kind": "AdmissionReview",
    "apiVersion": "admission.k8s.io/v1",
    "request": {
        "uid": "u",
        "resource": {"group": "kudo.dev", "resource": "operatorversions"},
        "operation": "CREATE",
        "namespace": "ns",
        "name": "v",
        "object": {
            "spec": {
                "plans": {"deploy": {"phases": [{"steps": [{"tasks": ["t"]}], "timeout": "1s"}]}},
                "tasks": [{"name": "t", "kind": DEFAULT_KIND, "spec": {"resources": ["a", "b"]}}],
                "templates": {"a": "{{ .Name }}", "b": "{{"},
                "parameters": [{"name": "A", "value-type": "array", "default": "["}],
            }
        },
    },
}


def prepare() -> None:
    """Load what jobs need, since no file can be opened later."""
    review_job.prepare()
    gotemplate.preload()
    handle(orjson.dumps(_SAMPLE))


HANDLERS: Mapping[str, Callable[[bytes], bytes]] = {
    **review_job.HANDLERS,
    review_job.VERSION: handle,
}
