"""`kubectl kudo package add parameter`: adds a parameter to a package."""

from collections.abc import Iterator
from dataclasses import dataclass

from goyaml import YamlError, load
from kubectl_kudo.commands.package.add.target import COMMON, HELP, Target, is_asked, target_of
from kubectl_kudo.session.arguments import Args, Flag
from kubectl_kudo.session.asking import agree, ask, choose
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError
from kudo.authoring.edit import Addition
from kudo.packages.files import PARAMETERS_FILE
from kudo.parameters.types import TYPES, is_container


def run(args: Args) -> None:
    """Add a parameter of the command line, or of the answers.

    Raises:
        CliError: the parameter is not valid, or the package cannot be changed.
    """
    asked = is_asked(args, "parameter")
    target = target_of(args)
    parameter = _answered(args, target) if asked else _given(args)
    if parameter.type and parameter.type not in TYPES:
        raise CliError(f'"{parameter.type}" is not a type; it can be {", ".join(TYPES)}')
    item = dict([*parameter.fields(), *_flags(args)])
    additions = [Addition("parameters", item)]
    if args.group and args.group not in {group.name for group in target.package.groups}:
        additions.append(Addition("groups", {"name": args.group}))
    text = target.with_additions(PARAMETERS_FILE, *additions)
    target.write({PARAMETERS_FILE: text}, f"parameter {parameter.name}")


COMMAND = Command(
    run,
    "[name]",
    (
        Flag(("--type",), "string, integer, number, boolean, array or map", "type"),
        # A list, so that an empty default can be told from none.
        Flag(("--default",), "its value if an instance sets none", "value", repeat=True),
        Flag(("--display-name",), "name for people", "text"),
        Flag(("--description",), "what it is for", "text"),
        Flag(
            ("--required",),
            "whether it needs a value (default: true); --required=false writes that down",
            default=True,
        ),
        Flag(("--immutable",), "it cannot be changed later", default=False),
        Flag(("--secret",), "its value comes from a Secret, and is not shown", default=False),
        Flag(("--trigger",), "plan that a change runs", "plan"),
        Flag(("--enum",), "one of the only values allowed; may be repeated", "value", repeat=True),
        Flag(("--group",), "group for people; it is defined if it is not yet", "name"),
        Flag(("--advanced",), "most users need not care", default=False),
        Flag(("--hint",), "a hint for people", "text"),
        *COMMON,
    ),
    more=HELP,
    examples=(
        ("A number of servers", "package add parameter servers --type integer --default 3"),
        ("An optional text", "package add parameter motto --required=false --trigger deploy"),
    ),
)


@dataclass(frozen=True, slots=True)
class _Parameter:
    """What the author says of a parameter; texts that are empty are left out."""

    name: str
    type: str
    default: str | None
    required: bool
    display_name: str
    description: str
    trigger: str

    def fields(self) -> Iterator[tuple[str, object]]:
        yield "name", self.name
        texts = {
            "displayName": self.display_name,
            "description": self.description,
            "type": self.type,
        }
        yield from ((key, text) for key, text in texts.items() if text)
        if self.default is not None:
            yield "default", self._value(self.default)
        if not self.required:
            # Without the field a parameter is required.
            yield "required", False
        elif is_container(self.type) and self.default is None:
            # Without the field these get null as their default.
            yield "required", True
        if self.trigger:
            yield "trigger", self.trigger

    def _value(self, text: str) -> object:
        if not is_container(self.type):
            return text
        try:
            return load(text)
        except YamlError as error:
            raise CliError(f'the default of "{self.name}" is not YAML: {error}') from error


def _given(args: Args) -> _Parameter:
    return _Parameter(
        name=args.arguments[0],
        type=args.type,
        default=args.default[-1] if args.default else None,
        required=args.required,
        display_name=args.display_name,
        description=args.description,
        trigger=args.trigger,
    )


def _flags(args: Args) -> Iterator[tuple[str, object]]:
    """Yield the fields that are only set by flags."""
    fields = {
        "immutable": args.immutable,
        "secret": args.secret,
        "enum": args.enum,
        "group": args.group,
        "advanced": args.advanced,
        "hint": args.hint,
    }
    yield from ((key, value) for key, value in fields.items() if value)


def _answered(args: Args, target: Target) -> _Parameter:
    existing = {parameter.name.lower() for parameter in target.package.parameters}

    def name_fault(name: str) -> str:
        if not name:
            return "an answer is needed"
        return f'there is a parameter "{name}" already' if name.lower() in existing else ""

    name = ask("Parameter Name", args.arguments[0] if args.arguments else "", name_fault)
    kind = choose("Type", [*TYPES], args.type or "string")
    default = ask("Default Value (optional)", args.default[-1] if args.default else "")
    return _Parameter(
        name=name,
        type=kind,
        default=default or (args.default[-1] if args.default else None),
        display_name=ask("Display Name (optional)", args.display_name),
        description=ask("Description (optional)", args.description),
        required=choose("Required", ("false", "true"), str(args.required).lower()) == "true",
        trigger=_trigger(args, target),
    )


def _trigger(args: Args, target: Target) -> str:
    plans = sorted(target.package.operator.plans or {})
    if not plans or not agree("Add Trigger Plan", default=bool(args.trigger)):
        return str(args.trigger)
    return choose("Trigger Plan", plans, args.trigger)
