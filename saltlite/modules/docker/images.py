"""docker: images, here and in registries."""

from __future__ import annotations

import base64
import datetime
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.modules.docker.networks import engine
from saltlite.providers.docker.engine import EngineError, failure_of, image_path

INTERNAL = ("split_name", "with_sizes", "with_times")
"""Functions for states and other files; nobody calls them by name."""

_PULLED = {"Already exists": "Already_Pulled", "Pull complete": "Pulled"}
_PUSHED = {"Layer already exists": "Already_Pushed", "Pushed": "Pushed"}
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def images(ctx: MinionContext, verbose: bool = False, **kwargs: Any) -> dict[str, Any]:
    """Return the images by their ids; with ``all`` also those between, with ``verbose`` all facts.

    CLI Example:

        salt '*' docker.images
    """
    asked = engine(ctx)
    found = {}
    for each in asked.get("/images/json", all=bool(kwargs.get("all"))):
        ident = str(each.pop("Id"))
        found[ident] = with_times(each)
        if verbose:
            found[ident]["Info"] = inspect_image(ctx, ident)
    return found


def with_times(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a listing with times and sizes as Salt tells them."""
    found: dict[str, Any] = {}
    for name, value in facts.items():
        found["Time_Created_Epoch" if name == "Created" else name] = value
    if "Created" in facts:
        made = datetime.datetime.fromtimestamp(facts["Created"], datetime.timezone.utc)
        found["Time_Created_Local"] = made.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")
    return with_sizes(found)


def with_sizes(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts with sizes also for people."""
    sizes = {
        f"{name}_Human": _format_size(facts[name])
        for name in ("Size", "VirtualSize")
        if isinstance(facts.get(name), int)
    }
    return {**facts, **sizes}


def _format_size(size: int) -> str:
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f} {_UNITS[unit]}"


def list_tags(ctx: MinionContext) -> list[str]:
    """Return the names of all images.

    CLI Example:

        salt '*' docker.list_tags
    """
    rows = engine(ctx).get("/images/json")
    return sorted(
        {tag for row in rows for tag in row.get("RepoTags") or [] if tag != "<none>:<none>"}
    )


def inspect_image(ctx: MinionContext, name: str) -> dict[str, Any]:
    """Return what there is to know about an image.

    CLI Example:

        salt '*' docker.inspect_image busybox
    """
    return with_sizes(engine(ctx).get(f"/images/{image_path(name)}/json"))


def resolve_image_id(ctx: MinionContext, name: str) -> str | bool:
    """Return the id of an image, ``False`` without it.

    CLI Example:

        salt '*' docker.resolve_image_id busybox
    """
    try:
        return str(inspect_image(ctx, name)["Id"])
    except EngineError as error:
        if error.status != 404:
            raise
        return False


def resolve_tag(ctx: MinionContext, name: str, **kwargs: Any) -> Any:
    """Return the full name of an image, ``False`` without it; with ``all`` all names it has.

    CLI Example:

        salt '*' docker.resolve_tag busybox
    """
    ident = resolve_image_id(ctx, name)
    if ident is False:
        return [] if kwargs.get("all") else False
    tags = list(inspect_image(ctx, str(ident)).get("RepoTags") or [])
    if kwargs.get("all"):
        return tags
    full = ":".join(split_name(name))
    return full if full in tags else (tags[0] if tags else ident)


def split_name(name: str) -> tuple[str, str]:
    """Return repository and tag, or digest, of an image; without one it is ``latest``."""
    if "@" in str(name):
        repository, _, digest = str(name).partition("@")
        return repository, digest
    head, slash, tail = str(name).rpartition("/")
    repository, _, tag = tail.partition(":")
    return f"{head}{slash}{repository}", tag or "latest"


def tag(
    ctx: MinionContext, name: str, repository: str, tag: str = "latest", force: bool = False
) -> bool:
    """Give an image another name.

    CLI Example:

        salt '*' docker.tag busybox mine tag=v2
    """
    ident = inspect_image(ctx, name)["Id"]
    asked = engine(ctx)
    asked.post(f"/images/{image_path(ident)}/tag", repo=repository, tag=tag, force=force)
    return True


def pull(
    ctx: MinionContext,
    image: str,
    insecure_registry: bool = False,
    api_response: bool = False,
    client_timeout: int = 60,
) -> dict[str, Any]:
    """Fetch an image from its registry.

    CLI Example:

        salt '*' docker.pull busybox:1.36
    """
    began = time.monotonic()
    repository, version = split_name(image_path(image))
    asked = engine(ctx, client_timeout)
    lines = asked.lines("/images/create", fromImage=repository, tag=version)
    return _describe_transfer(lines, _PULLED, began, "pull", image, api_response)


def push(
    ctx: MinionContext,
    image: str,
    insecure_registry: bool = False,
    api_response: bool = False,
    client_timeout: int = 60,
) -> dict[str, Any]:
    """Send an image to its registry, as nobody.

    CLI Example:

        salt '*' docker.push registry.example.com:5000/mine:v2
    """
    began = time.monotonic()
    repository, version = split_name(image_path(image))
    nobody = base64.urlsafe_b64encode(json.dumps({}).encode()).decode()
    asked = engine(ctx, client_timeout)
    lines = asked.lines(
        f"/images/{repository}/push", headers={"X-Registry-Auth": nobody}, tag=version
    )
    return _describe_transfer(lines, _PUSHED, began, "push", image, api_response)


def _describe_transfer(
    lines: Sequence[Mapping[str, object]],
    words: Mapping[str, str],
    began: float,
    verb: str,
    image: str,
    api_response: bool,
) -> dict[str, Any]:
    """Return what Salt tells about a transfer; raises FunctionError if it failed."""
    failure = failure_of(lines)
    if failure is not None:
        raise FunctionError(f"Unable to {verb} {image}: {failure}")
    found: dict[str, Any] = {"Time_Elapsed": time.monotonic() - began, "retcode": 0}
    if api_response:
        found["API_Response"] = [dict(line) for line in lines]
    layers: dict[str, list[str]] = {}
    for line in lines:
        status = str(line.get("status", ""))
        if status in words:
            layers.setdefault(words[status], []).append(str(line.get("id", "")))
        elif status.startswith("Status: "):
            found["Status"] = status.removeprefix("Status: ")
    return {**found, "Layers": layers} if layers else found


def rmi(ctx: MinionContext, *names: str, **kwargs: Any) -> dict[str, Any]:
    """Remove images; ``force`` also those that stopped containers use, ``prune=False`` not parents.

    CLI Example:

        salt '*' docker.rmi busybox force=True
    """
    if not names:
        raise UsageError("the name of an image is needed")
    found: dict[str, Any] = {"Layers": [], "Tags": [], "retcode": 0}
    errors: list[str] = []
    for name in names:
        errors += _remove_image(ctx, name, kwargs, found)
    if errors:
        found.update(Errors=errors, retcode=1)
    return found


def _remove_image(
    ctx: MinionContext, name: str, given: Mapping[str, object], found: dict[str, Any]
) -> list[str]:
    asked = engine(ctx)
    try:
        gone = asked.delete(
            f"/images/{image_path(name)}",
            force=bool(given.get("force")),
            noprune=not given.get("prune", True),
        )
    except EngineError as error:
        users = _list_users(ctx, name) if error.status == 409 else []
        message = str(error).removeprefix(f"Error {error.status}: ")
        used = [f"Image is in use by container(s): {', '.join(users)}"] if users else []
        return [message, *used]
    for each in gone or []:
        found["Layers"] += [each["Deleted"]] if "Deleted" in each else []
        found["Tags"] += [each["Untagged"]] if "Untagged" in each else []
    return []


def _list_users(ctx: MinionContext, name: str) -> list[str]:
    ident = resolve_image_id(ctx, name)
    rows = engine(ctx).get("/containers/json", all=True)
    return [str(row["Names"][0])[1:] for row in rows if row["ImageID"] == ident]


def build(
    ctx: MinionContext,
    path: str | None = None,
    repository: str | None = None,
    tag: str | None = None,
    cache: bool = True,
    rm: bool = True,
    api_response: bool = False,
    fileobj: object = None,
    dockerfile: str | None = None,
    buildargs: object = None,
) -> dict[str, Any]:
    """Refuse to build an image: it is not built here; ``docker build`` through ``cmd.run`` is.

    CLI Example:

        salt '*' docker.build /srv/app
    """
    raise FunctionError("docker.build is not there: cmd.run 'docker build -t NAME PATH' does it")
