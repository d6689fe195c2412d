"""A file of options for one call does what it does in real Salt (tests/cases/data/localconfig)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from localconfig_cases import plain, planted
from repository import DATA, read_yaml

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.errors import ConfigError, FunctionError, UsageError
from saltlite.host import Host
from saltlite.loader.registry import with_functions

CASES = DATA / "localconfig" / "cases.yaml"
ANSWERS = json.loads(CASES.with_suffix(".json").read_text())


def context(root: Path, grains: dict[str, Any] | None = None) -> MinionContext:
    config = load_minion(root / "own", {}, environ={}, cache_id=False)
    grains = grains or {"id": "web1", "os": "Debian", "kernel": "Linux", "os_family": "Debian"}
    return with_functions(MinionContext(config=config, host=Host(), grains=grains, pillar={}))


@pytest.mark.parametrize("case", read_yaml(CASES), ids=lambda case: case["name"].replace(" ", "-"))
def test_the_same_as_salt(case: dict[str, Any], tmp_path: Path) -> None:
    over = planted(case, tmp_path)
    ctx = context(tmp_path)
    fun, *args = case["call"]
    answer = ctx.functions.call(fun, *args, localconfig=over, **case.get("keywords", {}))
    assert plain(json.loads(json.dumps(answer))) == ANSWERS[case["name"]]


@pytest.fixture
def over(tmp_path: Path) -> Any:
    """``over({option: value}, **options of the minion)``: the context, and the file's path."""

    def made(options: Any, **own: Any) -> tuple[MinionContext, Path]:
        path = planted({"over": options, "options": own}, tmp_path)
        return context(tmp_path), Path(path)

    return made


def refused(ctx: MinionContext, path: Any, error: type[Exception]) -> str:
    with pytest.raises(error) as found:
        ctx.functions.call("state.sls", "seen", localconfig=path)
    return str(found.value)


def test_the_next_call_sees_the_minions_own_options(over):
    ctx, path = over({"my_option": "over", "file_roots": {"base": []}})
    config, functions = ctx.config, ctx.functions
    ctx.pillar = {"tier": "front"}
    assert isinstance(ctx.functions.call("state.sls", "seen", localconfig=str(path)), list)
    assert ctx.config is config and ctx.functions is functions
    (answer,) = ctx.functions.call("state.sls", "seen").values()
    assert answer["comment"].startswith("base own own {a: 1}")


def test_the_retcode_of_the_call_is_the_jobs(over):
    ctx, path = over({"my_option": "over"})
    ctx.functions.call("state.sls", "failing", localconfig=str(path))
    assert ctx.state["retcode"] == 2
    ctx.functions.call("state.sls", "seen", localconfig=str(path))
    assert ctx.state["retcode"] == 0
    ctx.functions.call("state.sls", "no_such_sls", localconfig=str(path))
    assert ctx.state["retcode"] == 1


def test_grains_of_the_file_lie_over_the_machines(over):
    ctx, path = over({"grains": {"id": "named"}})
    (answer,) = ctx.functions.call("state.sls", "seen", localconfig=str(path)).values()
    assert "web1 named front" in answer["comment"]
    ctx.functions.call("state.single", "test.nop", "x")
    assert ctx.grains["id"] == "web1"


def test_paths_in_the_file_lie_below_the_root_and_others_stay(over):
    ctx, path = over({"cachedir": "/var/cache/other"})
    from saltlite.highstate.localconfig import read_for

    config, _ = read_for(ctx, {"localconfig": str(path)})
    assert config.paths.cachedir == f"{ctx.config.paths.root_dir}/var/cache/other"
    assert config.paths.pki_dir == ctx.config.paths.pki_dir
    assert config.paths.conf_file == ctx.config.paths.conf_file


def test_a_file_that_is_not_there_is_named(over, tmp_path):
    ctx, _ = over({})
    told = refused(ctx, str(tmp_path / "none"), ConfigError)
    assert told == f"{tmp_path}/none: is not used: No such file or directory"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("my_option: [", ":1: "),
        ("- a\n", ":1: found list, allowed: a map of options"),
        ("root:$6$hash:19000:0:99\nbin:*:1\n", ":1: found text, allowed: a map of options"),
        ("\nfile_client: nowhere\n", ":2: file_client: "),
        ("id: a/b\n", ":1: id: found 'a/b'"),
    ],
)
def test_a_file_with_a_mistake_is_told_with_its_line(over, text, told):
    ctx, path = over({})
    path.write_text(text)
    found = refused(ctx, str(path), ConfigError)
    assert found.startswith(f"{path}{told}")
    assert "hash" not in found


def test_a_directory_is_no_file(over):
    ctx, path = over({})
    assert "not a regular file" in refused(ctx, str(path.parent), ConfigError)


@pytest.mark.parametrize("given", [3, ["/a"], {"a": 1}])
def test_what_is_no_path_is_refused(over, given):
    ctx, _ = over({})
    assert "allowed: the path of a file" in refused(ctx, given, UsageError)


def test_a_file_that_everybody_may_write_is_not_used(over):
    ctx, path = over({"my_option": "over"})
    path.chmod(0o666)
    assert f"{path} is writable by everybody" in refused(ctx, str(path), ConfigError)


def test_nor_is_one_in_such_a_directory_nor_a_link_to_one(over, tmp_path):
    ctx, path = over({"my_option": "over"})
    link = tmp_path / "link"
    link.symlink_to(path)
    path.parent.chmod(0o777)
    assert f"{path.parent} is writable by everybody" in refused(ctx, str(link), ConfigError)


def test_nor_one_that_includes_such_a_file(over):
    ctx, path = over({"include": "more"})
    more = path.with_name("more")
    more.write_text("my_option: more\n")
    more.chmod(0o666)
    assert f"{more}: everybody may write here" in refused(ctx, str(path), ConfigError)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_nor_is_the_file_of_another_user(over):
    ctx, path = over({"my_option": "over"})
    os.chown(path, 12345, -1)
    assert f"{path} belongs to user 12345" in refused(ctx, str(path), ConfigError)


class Link:
    """A master that is asked for the pillar only."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def request(self, load: Any) -> Any:
        self.asked.append(load)
        return {"tier": "of the master"}


def test_the_master_is_asked_under_the_minions_id_only(over):
    ctx, path = over({"id": "db1"}, file_client="remote")
    ctx.master = Link()
    told = refused(ctx, str(path), FunctionError)
    assert told == "localconfig: id: db1 has no key here; the master knows web1"
    assert ctx.master.asked == []


def test_a_file_may_turn_from_the_master_to_local_files(over, tmp_path):
    ctx, path = over({"file_client": "local"}, file_client="remote")
    ctx.master = link = Link()
    (answer,) = ctx.functions.call("state.sls", "seen", localconfig=str(path)).values()
    assert "web1 web1 front" in answer["comment"]
    assert link.asked == [] and ctx.master is link


def test_but_not_to_a_master_that_is_not_there(over):
    ctx, path = over({"file_client": "remote"})
    told = refused(ctx, str(path), FunctionError)
    assert told == "localconfig: file_client: this call has no master"


def test_an_asked_for_run_keeps_its_file(over):
    ctx, path = over({"my_option": "over"})
    ctx.functions.call("state.request", "seen", localconfig=str(path))
    (answer,) = ctx.functions.call("state.run_request").values()
    assert answer["comment"].startswith("base over over")


def test_state_single_takes_it_for_an_argument_of_the_state(over):
    ctx, path = over({})
    with pytest.raises(UsageError, match="'localconfig' is an invalid keyword argument"):
        ctx.functions.call("state.single", "grains.absent", "x", localconfig=str(path))
