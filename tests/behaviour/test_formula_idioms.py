"""A formula in the style of the public ones: tplroot, map.jinja, maps by grain, files_switch.

What it renders to was compared with ``state.show_sls`` of Salt 3006.30.
"""

from __future__ import annotations

import pytest
from repository import DATA

from saltlite.config.minion import FileOptions, IdentityOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.templates.pipe import TemplateSource, render

TREE = DATA / "jinja" / "states"


def rendered(tmp_path, os_family, pillar):
    config = MinionConfig(
        identity=IdentityOptions(id="x"),
        paths=PathOptions(cachedir=str(tmp_path)),
        files=FileOptions(file_client="local", file_roots={"base": [str(TREE)]}),
    )
    grains = {"id": "x", "os": os_family, "os_family": os_family}
    ctx = MinionContext(config=config, host=Host(), grains=grains, pillar=pillar)
    ctx.functions = Registry(ctx)
    text = (TREE / "tf" / "init.sls").read_text()
    source = TemplateSource(
        text=text, sls="tf", path=str(TREE / "tf" / "init.sls"), name="tf/init.sls"
    )
    parameters = render(source, ctx)["tf-config-file"]["test.nop"]
    return {name: value for each in parameters for name, value in each.items()}


def test_the_map_of_the_os_family_lies_on_the_defaults(tmp_path):
    found = rendered(tmp_path, "Debian", {})
    assert found["name"] == "/etc/tf.d"
    assert found["pkg"] == {"name": "tf-debian", "extra": ["a"]}
    assert found["svc"] is True
    assert list(found["context"]["tf"]) == ["config", "pkg", "rootgroup", "service"]
    assert found["source"] == [
        "salt://tf/files/x/x.conf",
        "salt://tf/files/Debian/x.conf",
        "salt://tf/files/default/x.conf",
    ]


@pytest.mark.parametrize("family", ["RedHat", "Gentoo"])
def test_another_family_has_the_defaults(family, tmp_path):
    found = rendered(tmp_path, family, {})
    assert (found["name"], found["pkg"]["name"]) == ("/etc/tf", "tf")


def test_pillar_has_the_last_word(tmp_path):
    pillar = {
        "tf": {
            "lookup": {"rootgroup": "wheel"},
            "config": "/opt/tf",
            "tofs": {"files_switch": ["id"], "dirs": {"files": "templates"}},
        }
    }
    found = rendered(tmp_path, "Debian", pillar)
    assert (found["group"], found["name"]) == ("wheel", "/opt/tf")
    assert found["source"] == ["salt://tf/templates/x/x.conf", "salt://tf/templates/default/x.conf"]
