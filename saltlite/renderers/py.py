"""The renderer ``py``: an SLS file of Python whose ``run`` gives the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from saltlite.templates.names import file_names
from saltlite.templates.python import require_file, run
from saltlite.templates.template import base_variables

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.templates.pipe import TemplateSource


def render(data: object, source: TemplateSource, ctx: MinionContext, argument: str) -> Any:
    """The data that ``run`` of an SLS file returns.

    Raises:
        RenderError: as :func:`run`; or it is no file.
    """
    require_file(source)
    variables = {
        **base_variables(ctx, source.saltenv, source.sls),
        **(file_names(source.sls, source.path, source.name) if source.sls else {}),
        **source.variables,
    }
    return run(str(data), source.path, variables)
