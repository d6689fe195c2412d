"""``reactor.*``: the reactions of the running master, and what an event would cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.errors import SaltliteError
from saltlite.runner_context import ReactorAccess, RunnerContext


def list_(ctx: RunnerContext) -> Any:
    """List the entries of the running reactor, each a map of a tag pattern to its SLS files.

    CLI Example:

        salt-run reactor.list
    """
    return _need_reactor(ctx).ask("list", {}).get("reactors")


def add(ctx: RunnerContext, event: str, reactors: str | Sequence[str]) -> Any:
    """Add an entry to the running reactor; it is gone when the master is started again.

    event
        The pattern of tags.

    reactors
        The SLS file, or a list of them.

    CLI Example:

        salt-run reactor.add 'my/event/*' salt://reactor/my.sls
    """
    listed = [reactors] if isinstance(reactors, str) else list(reactors)
    asked = {"event": str(event), "reactors": listed}
    return _need_reactor(ctx).ask("add", asked).get("result")


def delete(ctx: RunnerContext, event: str) -> Any:
    """Take the entry of a tag pattern out of the running reactor.

    CLI Example:

        salt-run reactor.delete 'my/event/*'
    """
    return _need_reactor(ctx).ask("delete", {"event": str(event)}).get("result")


def is_leader(ctx: RunnerContext) -> Any:
    """Whether the running reactor reacts; one that is not the leader does nothing.

    CLI Example:

        salt-run reactor.is_leader
    """
    return _need_reactor(ctx).ask("is_leader", {}).get("result")


def set_leader(ctx: RunnerContext, value: bool = True) -> Any:
    """Have the running reactor react, or with ``False`` do nothing.

    CLI Example:

        salt-run reactor.set_leader False
    """
    return _need_reactor(ctx).ask("set_leader", {"value": bool(value)}).get("result")


def test(ctx: RunnerContext, tag: str, data: Mapping[str, object] | None = None) -> dict[str, Any]:
    """Tell what an event would cause, without doing it.

    Return the entries that mean the tag, what each of their files renders to, and the calls that
    would be made, in order. The entries are those of the configuration; what was added to the
    running reactor is not among them. Templates are rendered as they are: functions that they call
    are called. The exit code is 1 if there are errors.

    data
        The event's data, as templates see it.

    CLI Example:

        salt-run reactor.test salt/minion/web1/start data='{id: web1}'
    """
    if data is not None and not isinstance(data, Mapping):
        raise SaltliteError("reactor.test: the data of an event are a map")
    return _need_reactor(ctx).test(str(tag), dict(data or {}))


def _need_reactor(ctx: RunnerContext) -> ReactorAccess:
    if ctx.reactor is None:
        raise SaltliteError("there is no master's configuration here")
    return ctx.reactor()
