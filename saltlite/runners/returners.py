"""``returners.*``: what databases need before returners can write to them."""

from __future__ import annotations

from saltlite.errors import FunctionError
from saltlite.loader.catalogue import RETURNERS
from saltlite.runner_context import RunnerContext


def schema(ctx: RunnerContext, name: str) -> str:
    """Print the SQL that makes the tables of a returner.

    Give it to the database as who owns it; or set ``<name>.create_tables: True``, and the returner
    makes tables that are not there.

    CLI Example:

        salt-run returners.schema pgjsonb --out=txt | psql salt
        salt-run returners.schema mysql --out=txt | mysql salt
    """
    del ctx
    found = RETURNERS.load(name)
    text = getattr(found, "SCHEMA", None)
    if not text:
        able = [one for one in RETURNERS if getattr(RETURNERS.load(one), "SCHEMA", None)]
        raise FunctionError(f"{name} is no returner with tables; these are: {', '.join(able)}")
    return str(text).strip()
