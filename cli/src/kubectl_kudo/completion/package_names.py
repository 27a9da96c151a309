"""Names of packages in a repository, and what a package declares."""

from kubectl_kudo.packages.sources import find, is_local
from kubectl_kudo.repositories.repository import open_repository
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.cells import printable
from kubectl_kudo.session.output import JsonObject
from kudo.packages.convert import to_objects
from kudo.packages.location import locate
from kudo.packages.repositories import search


async def packages(args: Args) -> list[tuple[str, str]]:
    """Return the names and descriptions of the packages of a repository."""
    index = await open_repository(args, getattr(args, "repo", "")).index()
    newest = (group[0] for group in search(index, "", all_versions=False))
    return [(printable(one.name), one.description) for one in newest]


async def spec_of_package(args: Args) -> JsonObject:
    """Return the spec of the OperatorVersion that the package of the first argument would have."""
    argument = args.arguments[0]
    # Commands without --repo take folders and archives alone, also by a bare name.
    local = is_local(argument) or not hasattr(args, "repo")
    located = locate(argument) if local else await find(args)
    spec: JsonObject = to_objects(located.package, "default").operator_version.to_wire()["spec"]
    return spec
