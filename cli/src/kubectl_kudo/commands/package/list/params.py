"""`kubectl kudo package list params`: a short name of `package list parameters`."""

from dataclasses import replace

from kubectl_kudo.commands.package.list import parameters

COMMAND = replace(
    parameters.COMMAND,
    examples=(("Names and defaults", "package list params ./web"),),
)
