"""PPAs, projects of COPR, keys of sources and their consolidation, in directories of a test.

Results, comments and changes are those of Salt 3006.30 over recorded programs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import MinionConfig, ModuleOptions
from saltlite.context import MinionContext
from saltlite.errors import SaltliteError
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Completed, Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve
from saltlite.providers.pkg import apt_keys, apt_repos, dnf

MIND = (
    " This may cause pkg states to behave differently than stated if this action is repeated"
    " without test=True, due to the differences in the configured repositories."
)
PPA = "ppa:own/arc"
RPMS = "dnf-plugins-core\x1f(none)\x1f4.0\x1f1\x1fnoarch\n"


class Recorded(Host):
    """The files of this machine, and programs that write what theirs would."""

    def __init__(self, directory: Path, programs: set[str]) -> None:
        self.directory, self.programs = directory, programs
        self.did: list[str] = []
        self.plugins = True

    def which(self, name: str) -> str | None:
        return f"/usr/bin/{name}" if name in self.programs else None

    def run(self, command: Any, **how: Any) -> Completed:
        words = [str(word) for word in command]
        text, code = "", 0
        if words[0] == "rpm":
            return Completed(pid=1, exit_code=0, stdout=RPMS if self.plugins else "", stderr="")
        self.did.append(" ".join(words if words[0] != "gpg" else ["gpg", *words[5:]]))
        if words[0] == "apt-add-repository":
            owner, name = words[-1].removeprefix("ppa:").split("/")
            uri = f"https://ppa.launchpadcontent.net/{owner}/{name}/ubuntu/"
            lines = f"Types: deb\nURIs: {uri}\nSuites: jammy\nComponents: main\n"
            (self.directory / f"{owner}-{name}.sources").write_text(lines)
        elif words[:2] == ["dnf", "copr"]:
            project = words[3].replace("@", "group_").replace("/", ":")
            repo = f"copr:copr.fedorainfracloud.org:{project}"
            (self.directory / f"_{repo}.repo").write_text(f"[{repo}]\nname=x\nenabled=1\n")
        elif "--export" in words:
            Path(words[words.index("--output") + 1]).write_bytes(b"key")
        elif "unknown" in words:
            code = 2
        return Completed(
            pid=1, exit_code=code, stdout=text, stderr="gpg: keyserver receive failed\n"
        )


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "parts"
    directory.mkdir()
    monkeypatch.setattr(apt_repos, "MAIN", str(tmp_path / "sources.list"))
    monkeypatch.setattr(apt_repos, "PARTS", str(directory))
    monkeypatch.setattr(apt_keys, "KEYRINGS", str(tmp_path / "keyrings"))
    monkeypatch.setattr(dnf, "REPOSITORIES", str(directory))
    return directory


ALL = {"apt-add-repository", "apt-key", "gpg", "dnf"}


def make(parts: Path, system: str = "Ubuntu", programs: set[str] = ALL) -> MinionContext:
    native = {"Ubuntu": "aptpkg", "Debian": "aptpkg", "Fedora": "yumpkg", "SUSE": "zypperpkg"}
    family = {"Ubuntu": "Debian", "Fedora": "RedHat", "SUSE": "Suse"}.get(system, system)
    config = MinionConfig(modules=ModuleOptions(providers={"pkg": native[system]}))
    grains = {"os": system, "os_family": family, "osarch": "amd64", "oscodename": "jammy"}
    host = Recorded(parts, programs)
    ctx = MinionContext(config=config, host=host, grains=grains, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


def run(ctx: MinionContext, fun: str, *, test: bool = False, **given: Any) -> tuple[Any, str, Any]:
    try:
        found = realise(resolve(fun, ctx).call(**given), ctx, test=test)
    except SaltliteError as error:
        return False, str(error), {}
    assert isinstance(found, Verdict)
    return found.result, found.comment, found.changes


def files(parts: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in parts.iterdir()}


@pytest.mark.parametrize("given", [{"name": "x", "ppa": "own/arc"}, {"name": PPA}])
def test_a_ppa_is_added_once_and_removed_once(parts: Path, given: dict[str, Any]) -> None:
    ctx = make(parts)
    said = f"Package repo '{given['name']}' would be configured.{MIND}"
    assert run(ctx, "pkgrepo.managed", test=True, **given) == (None, said, {"repo": PPA})
    assert ctx.host.did == []
    said = f"Configured package repo '{given['name']}'"
    assert run(ctx, "pkgrepo.managed", **given) == (True, said, {"repo": PPA})
    assert ctx.host.did == [f"apt-add-repository -y {PPA}", "apt-get -q update"]
    said = f"Package repo '{given['name']}' already configured"
    assert run(ctx, "pkgrepo.managed", **given) == (True, said, {})
    said = f"Package repo '{PPA}' will be removed.{MIND}"
    assert run(ctx, "pkgrepo.absent", test=True, **given) == (None, said, {"repo": PPA})
    assert run(ctx, "pkgrepo.absent", **given) == (True, f"Removed repo {PPA}", {"repo": PPA})
    assert files(parts) == {}
    assert run(ctx, "pkgrepo.absent", **given) == (True, f"Package repo {PPA} is absent", {})


def test_without_its_program_a_ppa_is_written_with_its_key(
    parts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx = make(parts, programs={"gpg"})
    answer = {"dict": {"signing_key_fingerprint": "F00D"}}
    asked = []

    def query(function: str, *given: Any, **named: Any) -> Any:
        if function == "http.query":
            asked.append(given[0])
            return answer
        return call(function, *given, **named)

    call = ctx.functions.call
    monkeypatch.setattr(ctx.functions, "call", query)
    given = {"name": "x", "ppa": "own/arc", "file": str(parts / "own.list")}
    assert run(ctx, "pkgrepo.managed", **given)[0] is True
    ring = parts.parent / "keyrings" / "own-arc.gpg"
    line = f"deb [signed-by={ring}] https://ppa.launchpadcontent.net/own/arc/ubuntu jammy main\n"
    assert files(parts) == {"own.list": line}
    assert (ring.read_bytes(), ring.stat().st_mode & 0o777) == (b"key", 0o644)
    assert asked == ["https://launchpad.net/api/1.0/~own/+archive/ubuntu/arc"]
    assert ctx.host.did[0] == "gpg --keyserver keyserver.ubuntu.com --recv-keys F00D"
    assert run(ctx, "pkgrepo.managed", **given)[2] == {}
    answer.clear()
    said = (
        "Failed to configure repo 'y': Launchpad was asked for the key of the PPA: it tells no key"
    )
    assert run(ctx, "pkgrepo.managed", name="y", ppa="own/other") == (False, said, {})


@pytest.mark.parametrize("test", [True, False])
def test_debian_has_no_ppas(parts: Path, test: bool) -> None:
    ctx = make(parts, "Debian")
    said = f"Failed to configure repo 'x': cannot parse \"ppa:\" style repo definitions: {PPA}"
    assert run(ctx, "pkgrepo.managed", test=test, name="x", ppa="own/arc") == (False, said, {})
    found = run(ctx, "pkgrepo.absent", test=test, name="x", ppa="own/arc")
    assert found == (True, "Package repo x is absent", {})
    said = "Failed to configure repo 'x': 'ppa:own' is not formed as ppa:owner/name"
    found = run(make(parts), "pkgrepo.managed", test=test, name="x", ppa="own")
    assert found == (False, said, {})


def test_what_the_program_says_is_told(parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx = make(parts)
    failed = Completed(pid=1, exit_code=1, stdout="", stderr="no such PPA\n")
    monkeypatch.setattr(ctx.host, "run", lambda command, **how: failed)
    said = "Unable to add PPA 'own/arc'. 'apt-add-repository' exited with status 1: 'no such PPA'"
    found = run(ctx, "pkgrepo.managed", name="x", ppa="own/arc")
    assert found == (False, f"Failed to configure repo 'x': {said}", {})


@pytest.mark.parametrize("project", ["user/proj", "@group/proj"])
def test_a_project_of_copr(parts: Path, project: str) -> None:
    ctx, repo = make(parts, "Fedora"), f"copr:{project}"
    given = {"name": "c", "copr": project}
    assert run(ctx, "pkgrepo.managed", test=True, **given)[2] == {"repo": repo}
    assert files(parts) == {}
    found = run(ctx, "pkgrepo.managed", **given)
    assert found == (True, "Configured package repo 'c'", {"repo": repo})
    assert ctx.host.did[0] == f"dnf copr enable {project} -y"
    assert run(ctx, "pkgrepo.managed", **given)[2] == {}
    assert run(ctx, "pkgrepo.absent", **given) == (True, f"Removed repo {repo}", {"repo": repo})
    assert run(ctx, "pkgrepo.absent", **given) == (True, f"Package repo {repo} is absent", {})
    assert files(parts) == {}


def test_copr_of_dnf5(parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx = make(parts, "Fedora")
    monkeypatch.setitem(globals(), "RPMS", RPMS.replace("dnf-plugins-core", "dnf5-plugins"))
    assert run(ctx, "pkgrepo.managed", name="c", copr="u/p")[0] is True


@pytest.mark.parametrize("test", [True, False])
def test_copr_where_it_cannot_be(parts: Path, test: bool) -> None:
    ctx = make(parts, "Fedora")
    ctx.host.plugins = False
    said = "Failed to configure repo 'c': dnf-plugins-core must be installed to use COPR"
    assert run(ctx, "pkgrepo.managed", test=test, name="c", copr="u/p") == (False, said, {})
    for system in ("Debian", "SUSE"):
        said = "copr needs dnf; the package manager of this machine is another"
        found = run(make(parts, system), "pkgrepo.managed", test=test, name="c", copr="u/p")
        assert found == (False, said, {})


def test_keywords_of_apt_are_no_options_of_dnf(parts: Path) -> None:
    ctx = make(parts, "Fedora")
    given = {"name": "c", "humanname": "C", "baseurl": "http://x/", "key_url": "http://x/k"}
    more = {"keyserver": "x", "keyid": "y", "consolidate": True, "ppa": "a/b", "clean_file": True}
    assert run(ctx, "pkgrepo.managed", **given, **more)[0] is True
    written = dict(line.split("=") for line in files(parts)["c.repo"].splitlines()[1:])
    assert written == {"name": "C", "baseurl": "http://x/", "enabled": "1"}
    assert run(ctx, "pkgrepo.managed", **given, **more)[2] == {}


LINE = "deb http://h.example/d sid main"


def test_keys_from_a_key_server(parts: Path) -> None:
    ctx = make(parts, "Debian")
    given = {"name": LINE, "keyid": ["AA", "BB"], "keyserver": "keys.example"}
    file = str(parts / "h.list")
    assert run(ctx, "pkgrepo.managed", **given, file=file)[0] is True
    received = [
        f"apt-key adv --batch --keyserver keys.example --recv {key}" for key in ("AA", "BB")
    ]
    assert [line for line in ctx.host.did if "adv" in line] == received
    removed = run(ctx, "pkgrepo.absent", name=LINE, keyid="AA")
    changes = {"repo": LINE, "keyid": "AA"}
    assert removed == (True, f"Removed repo {LINE}, and keyid AA", changes)
    assert ctx.host.did[-1] == "apt-key del AA"


@pytest.mark.parametrize("programs", [{"gpg", "apt-key"}, {"gpg"}])
def test_keys_go_into_the_file_that_the_source_names(parts: Path, programs: set[str]) -> None:
    ctx, rings = make(parts, "Debian", programs), parts.parent / "rings"
    aptkey = {"aptkey": False} if "apt-key" in programs else {}
    line = f"deb [signed-by={rings}/h.gpg] http://h.example/d sid main"
    given = {"name": line, "file": str(parts / "h.list"), **aptkey}
    key = {"keyid": "AA", "keyserver": "keys.example"}
    assert run(ctx, "pkgrepo.managed", **given, **key)[0] is True
    assert (rings / "h.gpg").read_bytes() == b"key"
    (parts.parent / "k.asc").write_text("text")
    given["name"] = f"deb [signed-by={rings}/k.asc] http://k.example/d sid main"
    assert run(ctx, "pkgrepo.managed", **given, key_url=str(parts.parent / "k.asc"))[0] is True
    assert (rings / "k.asc").read_text() == "text"


@pytest.mark.parametrize("test", [True, False])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"keyid": "AA"}, "both keyserver and keyid options required."),
        (
            {"key_url": "/k", "aptkey": False},
            "missing 'signedby' option when apt-key is missing",
        ),
    ],
)
def test_keys_without_a_place_fail_first(
    parts: Path, test: bool, given: dict[str, Any], said: str
) -> None:
    ctx = make(parts, "Debian")
    found = run(ctx, "pkgrepo.managed", test=test, name=LINE, **given)
    assert found == (False, f"Failed to configure repo '{LINE}': {said}", {})
    assert (ctx.host.did, files(parts)) == ([], {})


def test_a_key_that_is_not_to_be_had(parts: Path) -> None:
    ctx = make(parts, "Debian", {"gpg"})
    line = f"deb [signed-by={parts}/r.gpg] http://h.example/d sid main"
    given = {"keyid": "unknown", "keyserver": "keys.example", "file": str(parts / "h.list")}
    result, said, changes = run(ctx, "pkgrepo.managed", name=line, **given)
    assert (result, changes, files(parts)) == (False, {}, {})
    told = "Error: Could not add key: unknown (keys.example: gpg: keyserver receive failed)"
    assert said.endswith(told)


def test_a_source_in_another_file_will_do(parts: Path) -> None:
    (parts / "a.list").write_text(f"{LINE}\n")
    ctx = make(parts, "Debian")
    said = f"Package repo '{LINE}' already configured"
    found = run(ctx, "pkgrepo.managed", name=LINE, file=str(parts / "b.list"))
    assert found == (True, said, {})
    assert list(files(parts)) == ["a.list"]


def test_sources_are_consolidated_with_one_that_is_configured(parts: Path) -> None:
    main = parts.parent / "sources.list"
    main.write_text("# said\ndeb http://o.example/ x main\n")
    (parts / "a.list").write_text(f"{LINE}\ndeb http://o.example/ x contrib main # b\n")
    (parts / "d.sources").write_text("Types: deb\nURIs: http://d/\nSuites: s\nComponents: main\n")
    ctx = make(parts, "Debian")
    line = "deb http://n.example/d sid main"
    given = {"name": line, "file": str(parts / "n.list"), "consolidate": True}
    assert run(ctx, "pkgrepo.managed", test=True, **given)[2] == {"repo": line}
    assert sorted(files(parts)) == ["a.list", "d.sources"]
    assert run(ctx, "pkgrepo.managed", **given)[2] == {"repo": line}
    assert main.read_text() == f"deb http://o.example/ x main contrib\n{LINE}\n"
    assert sorted(files(parts)) == ["d.sources", "n.list"]
    assert run(ctx, "pkgrepo.managed", **given)[2] == {}
    assert run(ctx, "pkgrepo.managed", **{**given, "name": LINE})[2] == {}
    assert sorted(files(parts)) == ["d.sources", "n.list"]
