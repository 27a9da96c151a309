"""`kubectl kudo repo list`: prints the repositories of the user."""

from kubectl_kudo.repositories.home import home_folder, load_settings
from kubectl_kudo.repositories.repository import abandoned
from kubectl_kudo.repositories.urls import shown_place, shown_url
from kubectl_kudo.session.arguments import OUTPUT, Args, Flag
from kubectl_kudo.session.blocks import Column, Table, printable
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import no_arguments
from kubectl_kudo.session.output import check_format, one, show, talk
from kudo.packages.repositories.settings import BUILT_IN


def run(args: Args) -> None:
    """Print the repositories; warn of one that is not used."""
    no_arguments("repo list", args.arguments)
    check_format(args.output)
    settings = load_settings(home_folder(args))
    context = settings.context or BUILT_IN
    if args.output:
        listed = [{"name": each.name, "url": shown_url(each.url)} for each in settings.all()]
        print(one({"context": context, "repositories": listed}, args.output), end="")
    else:
        rows = [
            ("*" * (each.name == context) + printable(each.name), shown_place(each))
            for each in settings.all()
        ]
        show(Table(("NAME", Column("URL", kept=True)), rows, original=True))
    for each in settings.repositories:
        if each.is_abandoned:
            talk(f"Warning: {abandoned(each)}")


COMMAND = Command(
    run,
    flags=(Flag(OUTPUT.names, "yaml or json: print the list in this format", OUTPUT.value),),
    examples=(("All repositories", "repo list"),),
)
