"""Send a recorded decision through both routes and say what came of it; no tests of its own.

As the API server does: mutate, apply the patch, validate the result. What the mutating route
denies goes to the validating route as it was submitted, as where the mutating configuration is
missing.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from kudo.api import JsonObject
from tests.support.apiserver.writes.patches import apply_json_patch
from tests.unit.webhook.harness import MUTATE, VALIDATE, Webhook, patch_of, review
from tests.unit.webhook.vectors.recorded import DENIALS, Outcome, Vector, items

AT_ONCE = 8
PASSED_OVER = "MutatingWebhookMissing"


@dataclass(frozen=True, slots=True)
class Answer:
    """What both routes said.

    Attributes:
        vector: What was sent.
        outcome: What the mutating route made of it.
        final: The object after the patch; the submitted one if it was denied.
        validated: Reason for which the validating route denies `final`; empty if it does not.
    """

    vector: Vector
    outcome: Outcome
    final: JsonObject
    validated: str

    @property
    def requested_by(self) -> str:
        """Who is named in the run as the one who asked for it."""
        return str(self.final["spec"].get("planExecution", {}).get("requestedBy", ""))

    @property
    def finalizers(self) -> list[str]:
        found: list[str] = self.final["metadata"].get("finalizers", [])
        return found


async def ask_all(webhook: Webhook, vectors: Iterable[Vector]) -> list[Answer]:
    """Return the answer to each vector, in no order."""
    waiting, answers = iter(vectors), list[Answer]()

    async def ask_on() -> None:
        for vector in waiting:
            answers.append(await ask(webhook, vector))

    async with asyncio.TaskGroup() as group:
        for number in range(AT_ONCE):
            group.create_task(ask_on(), name=f"client {number}")
    return answers


async def ask(webhook: Webhook, vector: Vector) -> Answer:
    response = await webhook.ask(review(vector.new, vector.old), MUTATE)
    final = patched(vector.new, response)
    second = await webhook.ask(review(final, vector.old), VALIDATE)
    validated = "" if second["allowed"] else second["status"]["reason"]
    return Answer(vector, _outcome(vector, response, final), final, validated)


def patched(submitted: JsonObject, response: JsonObject) -> JsonObject:
    """Return the submitted object with the JSON Patch of the response applied."""
    if "patch" not in response:
        return submitted
    operations = patch_of(response)
    assert {operation["op"] for operation in operations} == {"add"}
    found: JsonObject = apply_json_patch(submitted, operations)
    return found


def _outcome(vector: Vector, response: JsonObject, final: JsonObject) -> Outcome:
    if not response["allowed"]:
        assert "patch" not in response
        return Outcome(denial=_denial(response["status"]), code=response["status"]["code"])
    run = final["spec"].get("planExecution", {})
    recorded = vector.recorded.finalizers is not None
    return Outcome(
        plan=run.get("planName", ""),
        status=run.get("status", ""),
        uid=_uid(vector, run.get("uid", "")),
        parameters=items(final["spec"].get("parameters")),
        finalizers=tuple(final["metadata"].get("finalizers", ())) if recorded else None,
    )


def _uid(vector: Vector, uid: str) -> str:
    if uid in {"", vector.submitted.get("uid")}:
        return "kept" if uid else "empty"
    return "stored" if uid == vector.stored.get("uid") else "fresh"


def _denial(status: JsonObject) -> str:
    """Return the code of the deciding problem; the reason itself if no code has its words."""
    cause = status["details"]["causes"][0]
    assert status["reason"] == cause["reason"]
    codes = [
        code
        for code, (reason, words) in DENIALS.items()
        if cause["reason"] == reason and words in cause["message"]
    ]
    return codes[0] if len(codes) == 1 else f"{cause['reason']} {codes}"
