"""Reads the parameter values of `-p` and `-P`."""

from collections.abc import Collection, Mapping
from pathlib import Path

from goyaml import NotTextError, decode
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import UsageError
from kudo.api.problems import InvalidInput, listed
from kudo.api.setting import Setting
from kudo.parameters.sources import parse_assignments, parse_parameter_file, with_plain_booleans


def given_values(args: Args) -> dict[str, Setting]:
    """Return the values of all files in their order, overridden by those of `-p`.

    `-p` may name a Secret or a ConfigMap instead of a value.

    Raises:
        UsageError: files or assignments cannot be parsed; the text lists all of them.
    """
    values: dict[str, Setting] = {}
    faults: list[str] = []
    for name in args.parameter_file:
        try:
            text = decode(Path(name).expanduser().read_bytes())
            values |= parse_parameter_file(name, text, spelling=True, single=True)
        except InvalidInput as error:
            faults.append(str(error))
        except (OSError, NotTextError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            faults.append(f"error reading from parameter file {name}: {reason}")
    try:
        values |= parse_assignments(args.parameter)
    except InvalidInput as error:
        faults.append(str(error))
    if faults:
        raise UsageError(f"could not parse parameters: {', '.join(faults)}")
    return values


def values_of_run(booleans: Collection[str], given: Mapping[str, Setting]) -> dict[str, str]:
    """Return parameters of a run as they are stored: texts, with booleans as `true` and `false`.

    Args:
        booleans: Names of those of type boolean.
        given: What `given_values` has read.

    Raises:
        UsageError: one names a Secret or a ConfigMap, which only parameters of Instances can.
    """
    values = {name: value for name, value in given.items() if isinstance(value, str)}
    if references := sorted(given.keys() - values.keys()):
        raise UsageError(
            f"parameters of a run have values, and take none from elsewhere: {listed(references)}; "
            "let the plan take the name of the Secret or ConfigMap as a value"
        )
    return {name: str(value) for name, value in with_plain_booleans(booleans, values).items()}
