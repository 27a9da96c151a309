"""`kubectl kudo version`: prints the version of the plugin, without a cluster."""

import os
import sys

from kubectl_kudo import __version__
from kubectl_kudo.session.arguments import OUTPUT, Args
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import no_arguments
from kubectl_kudo.session.output import check_format, one, say


def run(args: Args) -> None:
    no_arguments("version", args.arguments)
    check_format(args.output)
    client = {
        "gitVersion": __version__,
        "pythonVersion": ".".join(map(str, sys.version_info[:3])),
        "compiler": sys.implementation.name,
        "platform": f"{sys.platform}/{os.uname().machine}",
    }
    if args.output:
        print(one({"clientVersion": client}, args.output), end="")
        return
    # The form in which KUDO 0.19 printed a Go struct.
    fields = ", ".join(f'{key[0].upper()}{key[1:]}:"{value}"' for key, value in client.items())
    say(f"KUDO Version: version.Info{{{fields}}}")


COMMAND = Command(
    run,
    flags=(OUTPUT,),
    examples=(("As JSON", "version -o json"),),
)
