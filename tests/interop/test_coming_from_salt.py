"""docs/coming-from-salt.md: a running Salt becomes saltlite, master first, and Salt again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import OURS, SALT_3006, Cluster, eventually

MINIONS = ("web1", "web2")


class Moved(Cluster):
    """A cluster whose daemons change hands, in the same directories."""

    def swap_master(self, kind: str) -> None:
        self.master.stop()
        self.master_kind = kind
        self.master = self._daemon(kind, "salt-master", self.master_dir, "master")
        self.start_master()
        for name in MINIONS:
            self.wait_for_ping(name)

    def swap_minion(self, name: str, kind: str) -> None:
        self.minions[name].stop()
        daemon = self._daemon(kind, "salt-minion", self.minion_dir(name), name)
        daemon.env["MINION_HOME"] = str(self.root / name)
        self.minions[name], self.minion_kinds[name] = daemon, kind
        daemon.start()
        self.wait_for_ping(name)

    def everything(self) -> dict[str, object]:
        """What must be the same whoever serves: who is known, and what was set by hand."""
        asked = {
            "keys": self.salt_key("-L", "--out=json"),
            "pillar": self.salt("*", "pillar.get", "site", "--out=json", "--static"),
            "grain": self.salt("*", "grains.get", "shelf", "--out=json", "--static"),
            "by grain": self.salt("-G", "shelf:7", "test.ping", "--out=json", "--static"),
            "mine": self.salt("web1", "mine.get", "*", "test.echo", "--out=json", "--static"),
            "state": self.salt("*", "state.apply", "note", "--out=json", "--static"),
        }
        found: dict[str, object] = {name: ran.json for name, ran in asked.items()}
        found["state"] = {
            minion: [(one["result"], one["changes"]) for one in states.values()]
            for minion, states in asked["state"].json.items()
        }
        return found

    def digests(self) -> dict[str, str]:
        """The keys of all, and the configuration."""
        files = [
            *(self.root / "master" / "pki").glob("master.p*"),
            *(self.pki_dir / "minions").iterdir(),
            *self.root.glob("web*/pki/*"),
            *self.root.glob("*/etc/m*"),
            *self.root.glob("*/etc/grains"),
        ]
        return {
            str(path.relative_to(self.root)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
            if path.is_file() and not path.name.startswith(".")  # locks
        }

    def tell_master_again(self) -> None:
        """What the page says after a master of 3006 or 3007, whose cache has another layout."""
        self.salt("*", "saltutil.refresh_pillar")
        self.salt("*", "mine.update")
        self.wait_for_grain()

    def wait_for_grain(self) -> None:
        """Until the master may be asked for whom the grain means."""

        def known() -> bool:
            printed = self.salt("-G", "shelf:7", "test.ping", "--out=txt").stdout.splitlines()
            return sorted(printed) == [f"{name}: True" for name in MINIONS]

        eventually(known, what="the grain is known")


def lay_out(root: Path) -> None:
    """Files and pillar of the site."""
    for folder in ("srv", "pillar"):
        (root / folder).mkdir(parents=True)
    (root / "srv/note.sls").write_text(
        "note:\n  file.managed:\n    - name: {{ opts['root_dir'] }}/note\n"
        "    - contents: {{ pillar['site'] }}\n"
    )
    (root / "pillar/top.sls").write_text("base:\n  'web*': [site]\n")
    (root / "pillar/site.sls").write_text("site: ours\n")


@pytest.fixture
def site() -> Iterator[Moved]:
    one = Moved(
        master=SALT_3006,
        minions=dict.fromkeys(MINIONS, SALT_3006),
        master_options={"timeout": 5},
        minion_options={"mine_functions": {"test.echo": ["I am here"]}},
        auto_accept=False,
    )
    with one:
        lay_out(one.root / "master")
        one.start_master()
        for name in MINIONS:
            one.minions[name].start()
            one.wait_for_pending(name)
        one.salt_key("-y", "-A")
        for name in MINIONS:
            one.wait_for_ping(name)
        yield one


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_there_and_back(site: Moved) -> None:
    site.salt("*", "grains.setval", "shelf", "7")
    site.wait_for_grain()
    site.salt("*", "mine.update")
    site.salt("*", "state.apply", "note")
    before, keys = site.everything(), site.digests()
    assert before["keys"]["minions"] == list(MINIONS)  # type: ignore[index]

    site.swap_master(OURS)
    site.tell_master_again()
    assert site.everything() == before
    for name in MINIONS:
        site.swap_minion(name, OURS)
        assert site.everything() == before
    site.swap_master(SALT_3006)
    assert site.everything() == before
    for name in MINIONS:
        site.swap_minion(name, SALT_3006)
    assert site.everything() == before
    assert site.digests() == keys
