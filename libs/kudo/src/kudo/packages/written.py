"""`operator.yaml` as people write it: the models of `kudo.packages.model` with the short form.

Files are read by the models of the long form. These have the descriptions and the fields of both
forms, for editors, pages and the check for unknown fields.
"""

from collections.abc import Mapping

from pydantic import Field, create_model

from kudo.api import bounds
from kudo.api.base import Name, at_most
from kudo.api.operatorversion import Phase, Step, TaskSpec
from kudo.api.task_kinds import KINDS
from kudo.packages.model import OperatorFile, PackagePlan
from kudo.packages.short_form import INLINE, LISTED


class _Included(Step):
    include: Name | None = Field(
        None,
        description="In place of all other fields: the steps of this fragment or plan stand here.",
    )


def _inline(word: str) -> tuple[object, object]:
    sole = KINDS[INLINE[word]].sole
    fields = f"spec.{sole}" if sole else "spec"
    text = f"A task of kind {INLINE[word]} that stands in the step: the fields of its `{fields}`."
    if word in LISTED:
        text += " A list alone is its `resources`."
    model = TaskSpec.model_fields[sole].annotation if sole else TaskSpec | None
    return model, Field(None, description=text)


WrittenStep = create_model(  # type: ignore[call-overload]
    "WrittenStep", __base__=_Included, **{word: _inline(word) for word in INLINE}
)


class WrittenPhase(Phase):
    steps: tuple[WrittenStep, ...] = Field(
        (), description="The steps of the phase.", json_schema_extra=at_most(bounds.STEPS)
    )


class WrittenPlan(PackagePlan):
    strategy: Name = Field(
        "",
        description="Whether phases run serial (the default) or parallel; or the steps of a plan "
        "that has no phases.",
    )
    phases: tuple[WrittenPhase, ...] | None = Field(
        None, description="The phases of the plan.", json_schema_extra=at_most(bounds.PHASES)
    )
    steps: tuple[WrittenStep, ...] | None = Field(
        None,
        description="The steps of a plan that has no phases; they are of one phase, `main`.",
        json_schema_extra=at_most(bounds.STEPS),
    )


class WrittenOperatorFile(OperatorFile):
    """`operator.yaml` in either form."""

    plans: Mapping[str, WrittenPlan] | None = Field(
        None,
        description=OperatorFile.model_fields["plans"].description,
        json_schema_extra={"maxProperties": bounds.PLANS},
    )
    fragments: Mapping[str, tuple[WrittenStep, ...]] | None = Field(
        None,
        description="Lists of steps by name, for plans that `include` them.",
        json_schema_extra={"maxProperties": bounds.PLANS},
    )
