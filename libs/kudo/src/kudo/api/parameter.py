"""Parameters of an OperatorVersion, and the bounds of their values.

The bounds are the words of JSON Schema, each a type with its description, since packages declare
the same ones (`kudo.packages.model`). Definitions inside each other end after three levels
(`bounds.VALUE_DEPTH`): a CustomResourceDefinition has no recursion.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Final

from pydantic import Field, JsonValue

from kudo.api import bounds
from kudo.api.base import ApiModel, Name, ParameterValue, Text, at_most
from kudo.api.value_bounds import ValueBounds

_COUNT: Final[dict[str, JsonValue]] = {"format": "int64", "minimum": 0}

Number = int | float
Minimum = Annotated[Number | None, Field(description="The least number (integer, number).")]
Maximum = Annotated[Number | None, Field(description="The largest number (integer, number).")]
MinLength = Annotated[
    int | None,
    Field(description="The fewest characters (string).", json_schema_extra=_COUNT),
]
MaxLength = Annotated[
    int | None, Field(description="The most characters (string).", json_schema_extra=_COUNT)
]
Pattern = Annotated[
    str | None,
    Field(
        description="Regular expression (RE2) that a part of the text must match; `^` and `$` "
        "stand for its ends (string).",
        json_schema_extra={"maxLength": bounds.PATTERN},
    ),
]
Format = Annotated[
    Name | None,
    Field(
        description="What the text is: quantity (of Kubernetes), duration (of Go), cron (5 "
        "fields), dns-name (RFC 1123) or semver (string)."
    ),
]
MinItems = Annotated[
    int | None, Field(description="The fewest items (array).", json_schema_extra=_COUNT)
]
MaxItems = Annotated[
    int | None, Field(description="The most items (array).", json_schema_extra=_COUNT)
]
AdditionalProperties = Annotated[
    bool | None,
    Field(description="Whether there may be other keys than `properties`; true if absent (map)."),
]

_ITEMS: Final = "What each item is (array)."
_PROPERTIES: Final = "What the values are, by key (map)."
_MOST_PROPERTIES: Final[dict[str, JsonValue]] = {"maxProperties": bounds.PROPERTIES}


class InnermostValue(ApiModel):
    """What an item or a property is, without definitions of what is in it."""

    type: Name | None = Field(
        None,
        description="string, integer, number, boolean, array or map; any of them if absent.",
    )
    description: Text | None = Field(None, description="What the value is for.")
    required: bool | None = Field(
        None, description="Whether a map must have it (properties); false if absent."
    )
    enum: tuple[Text, ...] | None = Field(
        None, description="The only values allowed.", json_schema_extra=at_most(bounds.VALUE_ENUM)
    )
    minimum: Minimum = None
    maximum: Maximum = None
    min_length: MinLength = None
    max_length: MaxLength = None
    pattern: Pattern = None
    format: Format = None
    min_items: MinItems = None
    max_items: MaxItems = None
    additional_properties: AdditionalProperties = None


class InnerValue(InnermostValue):
    """What an item or a property of an item or a property is."""

    items: InnermostValue | None = Field(None, description=_ITEMS)
    properties: Mapping[str, InnermostValue] | None = Field(
        None, description=_PROPERTIES, json_schema_extra=_MOST_PROPERTIES
    )


class NestedValue(InnermostValue):
    """What an item or a property of a parameter is."""

    items: InnerValue | None = Field(None, description=_ITEMS)
    properties: Mapping[str, InnerValue] | None = Field(
        None, description=_PROPERTIES, json_schema_extra=_MOST_PROPERTIES
    )


Items = Annotated[NestedValue | None, Field(description=_ITEMS)]
Properties = Annotated[
    Mapping[str, NestedValue] | None,
    Field(description=_PROPERTIES, json_schema_extra=_MOST_PROPERTIES),
]

BOUNDS: Final = (
    *("minimum", "maximum", "min_length", "max_length", "pattern", "format"),
    *("min_items", "max_items", "items", "properties", "additional_properties"),
)
"""Names of the attributes of a parameter that are bounds of its value."""


class Parameter(ApiModel):
    """A parameter that Instances of this version may set."""

    name: Name = Field("", description="Name by which templates and users refer to it.")
    display_name: Text | None = Field(None, description="Name for people.")
    description: Text | None = Field(None, description="What the parameter is for.")
    required: bool | None = Field(None, description="Whether it needs a value.")
    default: ParameterValue | None = Field(
        None, description="Its value where the Instance sets none."
    )
    trigger: Name | None = Field(None, description="Plan that runs when the value changes.")
    value_type: Name | None = Field(
        None,
        alias="value-type",
        description="string, integer, number, boolean, array or map; string if absent.",
    )
    immutable: bool | None = Field(
        None, description="Whether the value may not change once the Instance exists."
    )
    secret: bool | None = Field(
        None,
        description="Whether the value is a secret, which Instances take from a Secret "
        "(`parametersFrom`) and nothing shows.",
    )
    on_change: Name | None = Field(
        None,
        description="`run` runs its plan when the Secret has another value; if "
        "absent, the next run takes that.",
    )
    enum: tuple[ParameterValue, ...] | None = Field(
        None, description="The only values allowed.", json_schema_extra=at_most(bounds.ENUM)
    )
    minimum: Minimum = None
    maximum: Maximum = None
    min_length: MinLength = None
    max_length: MaxLength = None
    pattern: Pattern = None
    format: Format = None
    min_items: MinItems = None
    max_items: MaxItems = None
    items: Items = None
    properties: Properties = None
    additional_properties: AdditionalProperties = None

    @cached_property
    def bounds(self) -> ValueBounds | None:
        """The bounds of its value; None if there are none."""
        if all(getattr(self, name) is None for name in BOUNDS):
            return None
        return ValueBounds.of(
            self.model_dump(mode="json", by_alias=True, exclude_none=True, include={*BOUNDS})
        )
