"""Wheel functions over key directories and roots that are real files."""

import threading
from types import SimpleNamespace

import pytest

from saltlite.cli.stores import KeyDirectory, KeyMaterial
from saltlite.client.runner import WheelClient
from saltlite.config.master import FileOptions, MasterConfig, PathOptions, PillarOptions
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import FunctionError, FunctionUnavailable
from saltlite.loader.master_functions import resolve_wheel as resolve
from saltlite.loader.master_functions import wheel_docs as docs
from saltlite.master.embedded import open_stores
from saltlite.master.keystore import KeyState, KeyStore
from saltlite.wheel import config, error, file_roots, key, minions, pillar_roots

PEM = PrivateKey.generate(2048).public.pem


OUTSIDE = [
    "../secret",
    "/etc/passwd",
    "web/../../secret",
    "out",
    "up/secret",
    "",
    ".",
    "a\0b",
]


class Fired(list):
    def fire(self, tag, data):
        self.append((tag, data))


class Records(list):
    def record(self, *entry):
        self.append(entry)


@pytest.fixture
def ctx(tmp_path):
    for name in ("srv", "pillar"):
        (tmp_path / name / "web").mkdir(parents=True)
        (tmp_path / name / "top.sls").write_text("base: {}\n")
        (tmp_path / name / "out").symlink_to(tmp_path / "secret")
        (tmp_path / name / "up").symlink_to(tmp_path)
    (tmp_path / "secret").write_text("TOP SECRET")
    (tmp_path / "srv" / "picture").write_bytes(b"\0\1")
    (tmp_path / "master").write_text("# ours\ntimeout: 5\nlist:\n  - 1\n")
    made = MasterConfig(
        paths=PathOptions(
            pki_dir=str(tmp_path / "pki"),
            cachedir=str(tmp_path / "cache"),
            conf_file=str(tmp_path / "master"),
        ),
        files=FileOptions(file_roots={"base": [str(tmp_path / "srv"), "/nonexistent"]}),
        pillar=PillarOptions(pillar_roots={"base": [str(tmp_path / "pillar")]}),
    )
    store = KeyStore(tmp_path / "pki")
    store.prepare()
    for minion, state in (("web1", "ACCEPTED"), ("web2", "UNACCEPTED"), ("db1", "REJECTED")):
        store.put(minion, KeyState[state], PEM)
    events, stores = Fired(), open_stores(made)
    return SimpleNamespace(
        config=made,
        keys=KeyDirectory(made, stores, fire=events.fire),
        key_material=KeyMaterial(made, stores),
        connected=lambda: {"web1": "192.0.2.1"},
        events=events,
        jobs=Records(),
        user="root",
        jid="",
        functions=None,
        state={},
    )


def test_keys_are_listed(ctx):
    found = key.list_all(ctx)
    assert found["minions"] == ["web1"]
    assert found["minions_pre"] == ["web2"]
    assert found["local"] == []
    assert key.list_(ctx, "acc") == {"minions": ["web1"]}
    assert key.list_(ctx, "nonsense") == {}
    assert key.name_match(ctx, "web*") == {"minions": ["web1"], "minions_pre": ["web2"]}
    assert key.glob_match(ctx, "db1") == {"minions_rejected": ["db1"]}
    assert minions.connected(ctx) == ["web1"]


def test_keys_change_their_states(ctx):
    assert key.accept(ctx, "web2") == {"minions": ["web2"]}
    assert key.accept(ctx, "db1") == {"minions_rejected": ["db1"]}
    assert key.accept(ctx, "db1", include_rejected=True) == {"minions": ["db1"]}
    assert key.reject(ctx, "db1") == {"minions": ["db1"]}
    assert key.reject(ctx, "db1", include_accepted=True) == {"minions_rejected": ["db1"]}
    assert key.delete(ctx, "db1") == {}
    assert [data["act"] for tag, data in ctx.events if tag == "salt/key"] == [
        "accept",
        "accept",
        "reject",
        "delete",
    ]


def test_keys_change_by_name(ctx):
    assert key.accept_dict(ctx, {"minions_pre": ["web2"], "minions_rejected": ["db1"]}) == {
        "minions": ["web2"],
        "minions_rejected": ["db1"],
    }
    assert key.reject_dict(ctx, {"minions": ["web2"]}, include_accepted=True) == {
        "minions_rejected": ["web2"]
    }
    assert key.delete_dict(ctx, {"minions_rejected": ["web2", "db1"]}) == {}
    assert key.list_all(ctx)["minions"] == ["web1"]


def test_keys_are_shown_and_made(ctx):
    assert key.key_str(ctx, "web1")["minions"]["web1"].startswith("-----BEGIN PUBLIC KEY-----")
    assert key.finger(ctx, "web1")["minions"]["web1"].count(":") == 31
    pair = key.gen(ctx, keysize=2048)
    assert pair["priv"].startswith("-----BEGIN RSA PRIVATE KEY-----")
    made = key.gen_accept(ctx, "new1")
    assert key.key_str(ctx, "new1")["minions"]["new1"].strip() == made["pub"].strip()
    assert key.gen_accept(ctx, "new1") == {}
    for bad in ("../x", "a/b", ""):
        with pytest.raises(ValueError, match="id"):
            key.gen_accept(ctx, bad)


def test_no_private_key_goes_on_the_bus_or_on_record(ctx):
    made = WheelClient(ctx).cmd("key.gen_accept", ["new2"])
    assert "PRIVATE" in made["priv"]
    assert "PRIVATE" not in repr([*ctx.events, *ctx.jobs])
    tags = [tag for tag, _ in ctx.events if tag.startswith("salt/wheel/")]
    assert [tag.rpartition("/")[2] for tag in tags] == ["new", "ret"]


@pytest.mark.parametrize("roots", [file_roots, pillar_roots])
def test_files_are_found_read_and_written(ctx, roots, tmp_path):
    assert [list(one.values()) for one in roots.find(ctx, "top.sls")] == [["txt"]]
    assert list(roots.read(ctx, "top.sls")[0].values()) == ["base: {}\n"]
    said = roots.write(ctx, "x: 1\n", "web/init.sls")
    assert said.startswith("Wrote data to file ")
    assert list(roots.read(ctx, "web/init.sls")[0].values()) == ["x: 1\n"]
    (tree,) = roots.list_env(ctx).values()
    assert tree["web"] == {"init.sls": "f"}
    assert roots.list_roots(ctx)["base"][0] == roots.list_env(ctx)
    assert roots.find(ctx, "nosuch") == []


@pytest.mark.parametrize("change", [key.accept_dict, key.reject_dict, key.delete_dict])
@pytest.mark.parametrize("match", [{"minions": "web1"}, ["web1"], "web1", {"minions": None}])
def test_keys_by_state_are_lists(ctx, change, match):
    before = key.list_all(ctx)
    with pytest.raises(FunctionError, match="by state"):
        change(ctx, match)
    assert key.list_all(ctx) == before


def test_what_is_no_text_is_not_read(ctx):
    assert list(file_roots.find(ctx, "picture")[0].values()) == ["bin"]
    assert file_roots.read(ctx, "picture") == []


@pytest.mark.parametrize("roots", [file_roots, pillar_roots])
@pytest.mark.parametrize("path", OUTSIDE)
def test_nothing_outside_the_roots_is_read_or_written(ctx, roots, path, tmp_path):
    assert roots.read(ctx, path) == roots.find(ctx, path) == []
    with pytest.raises(FunctionError, match=r"Invalid path|not relative to the environ") as caught:
        roots.write(ctx, "PWNED", path)
    assert str(tmp_path) not in str(caught.value)
    assert (tmp_path / "secret").read_text() == "TOP SECRET"


@pytest.mark.parametrize("saltenv", ["../../etc", "", "nosuch", "__env__", None, ["base"], {}])
def test_an_environment_is_looked_up_never_joined(ctx, saltenv):
    with pytest.raises(FunctionError, match=r"Named environment .* is not present"):
        file_roots.write(ctx, "x", "a", saltenv)
    with pytest.raises(FunctionError, match="no such environment"):
        file_roots.read(ctx, "a", saltenv)
    with pytest.raises(FunctionError, match="Specified index 7 in environment base is not present"):
        file_roots.write(ctx, "x", "a", "base", 7)


def test_of_two_changes_of_options_none_is_lost(ctx, tmp_path, monkeypatch):
    read, others = config.disk.read_regular, []

    def read_slowly(path):
        found = read(path)
        if not others:
            others.append(threading.Thread(target=config.apply, args=(ctx, "second", 2)))
            others[0].start()
            others[0].join(0.3)  # one that does not stand in line is done by then
        return found

    monkeypatch.setattr(config.disk, "read_regular", read_slowly)
    assert config.apply(ctx, "first", 1) is None
    others[0].join()
    text = (tmp_path / "master").read_text()
    assert "first: 1\n" in text
    assert "second: 2\n" in text


def test_options_are_changed_in_their_file(ctx, tmp_path):
    assert config.apply(ctx, "timeout", 15) is None
    assert config.apply(ctx, "new_one", {"a": [1]}) is None
    text = (tmp_path / "master").read_text()
    assert text == "# ours\ntimeout: 15\nlist:\n  - 1\nnew_one: {a: [1]}\n"
    with pytest.raises(ValueError, match="several lines"):
        config.apply(ctx, "list", [2])
    with pytest.raises(ValueError, match="option"):
        config.apply(ctx, "a: b\nevil", 1)


def test_files_of_options_are_written(ctx, tmp_path):
    assert config.update_config(ctx, "gui", {"id": 1}) == "Wrote gui.conf"
    assert config.update_config(ctx, "text.conf", "a: [1, 2]") == "Wrote text.conf"
    assert (tmp_path / "master.d" / "gui.conf").read_text() == "id: 1\n"
    for bad in ("../x", "a/b", ".hidden", ""):
        with pytest.raises(ValueError, match="name of a file"):
            config.update_config(ctx, bad, {})
    with pytest.raises(ValueError, match="map"):
        config.update_config(ctx, "x", "- 1")


def test_values_have_no_secrets(ctx):
    found = config.values(ctx)
    assert found["pki_dir"] == ctx.config.paths.pki_dir
    assert "key_pass" not in found


def test_errors_are_raised_by_name():
    with pytest.raises(OSError, match="hey"):
        error.error("OSError", "hey")
    with pytest.raises(Exception, match="NoSuch: hey"):
        error.error("NoSuch", "hey")


def test_names(ctx):
    for name in ("key.nosuch", "_roots.read", "keyring.KeyClient", "os.system", "key", ""):
        with pytest.raises(FunctionUnavailable):
            resolve(name, ctx)
    for name, doc in docs().items():
        assert f'wheel.cmd("{name}"' in doc, name
