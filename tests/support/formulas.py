"""The low data of formulas, by whichever Salt this runs with; in an overlay of the root.

    python formulas.py ours|salt FORMULAS PILLARS WANTED.json

Each formula has the pillars that are in its directory below ``PILLARS``. The answer is a line of
JSON for each formula and pillar: ``[formula, pillar, {sls: low data, or a list of errors}]``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ShowLow = Callable[[Path, str], Any]
"""``state.show_low_sls`` of one SLS with the configuration in a directory."""


def configure(formulas: Path, pillars: Path, formula: str, pillar: str) -> Path:
    """A minion without a master whose files are all formulas."""
    folder = Path("/mnt") / formula / pillar
    pillar_root = folder / "pillar"
    pillar_root.mkdir(parents=True)
    (pillar_root / "top.sls").write_text("base: {'*': [formula]}\n")
    text = (pillars / formula / pillar).read_text()
    (pillar_root / "formula.sls").write_text(text)
    roots = [str(formulas / formula), *(str(one) for one in sorted(formulas.iterdir()))]
    options = {
        "id": "web1", "root_dir": str(folder / "root"), "cachedir": str(folder / "cache"),
        "pki_dir": str(folder / "pki"), "file_client": "local", "file_roots": {"base": roots},
        "pillar_roots": {"base": [str(pillar_root)]}, "log_level": "quiet",
        "log_level_logfile": "quiet", "enable_fqdns_grains": False,
    }  # fmt: skip
    (folder / "minion").write_text(json.dumps(options))
    return folder


def show_low_of_ours() -> Callable[[Path], Callable[[str], Any]]:
    """With our own functions."""
    from saltlite.config.load import load_minion
    from saltlite.context import MinionContext
    from saltlite.errors import CommandError, FunctionError
    from saltlite.grains import LazyGrains
    from saltlite.host import Host
    from saltlite.loader.registry import Registry
    from saltlite.minion.job import as_plain
    from saltlite.pillar.context import compile_masterless

    def prepare(folder: Path) -> Callable[[str], Any]:
        config, host = load_minion(str(folder), {}, cache_id=False), Host()
        ctx = MinionContext(config=config, host=host, grains=LazyGrains(config, host), pillar={},
                            pillar_is_fresh=False)  # fmt: skip
        ctx.functions = Registry(ctx)
        ctx.pillar = compile_masterless(ctx)

        def show(sls: str) -> Any:
            try:
                return as_plain(ctx.functions.call("state.show_low_sls", sls))
            except (CommandError, FunctionError) as error:
                return f"{type(error).__name__}: {error}"

        return show

    return prepare


def show_low_of_salt() -> Callable[[Path], Callable[[str], Any]]:
    """With real Salt's."""
    import salt.client  # type: ignore[import-not-found]
    import salt.config  # type: ignore[import-not-found]

    def prepare(folder: Path) -> Callable[[str], Any]:
        options = salt.config.minion_config(str(folder / "minion"))
        options["config_dir"] = str(folder)  # as the parser of the command line does
        caller = salt.client.Caller(mopts=options)

        def show(sls: str) -> Any:
            try:
                return caller.cmd("state.show_low_sls", sls)
            except Exception as error:  # noqa: BLE001 - every end is an answer
                return f"{type(error).__name__}: {error}"

        return show

    return prepare


def main(side: str, formulas: str, pillars: str, wanted: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    prepare = show_low_of_ours() if side == "ours" else show_low_of_salt()
    for formula, pillar, names in json.loads(Path(wanted).read_text()):
        folder = configure(Path(formulas), Path(pillars), formula, pillar)
        show = prepare(folder)
        found = {name: show(name) for name in names}
        answers.write(json.dumps([formula, pillar, found], default=str) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
