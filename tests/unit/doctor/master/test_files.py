from pathlib import Path

from doctor_facts import master_facts, show

from saltlite.doctor.machine import Machine
from saltlite.doctor.master import files


def make_facts(tmp_path, **options):
    facts = master_facts(tmp_path, Machine(), **options)
    paths = facts.config.paths
    for path in (paths.pki_dir, paths.cachedir, paths.sock_dir):
        Path(path).mkdir(mode=0o700, parents=True, exist_ok=True)
    return facts


def test_a_closed_master(tmp_path):
    assert show(files.look(make_facts(tmp_path))) == []


def test_what_others_may_do(tmp_path):
    facts = make_facts(tmp_path, **{"mysql.passwd": "hunter2"})
    paths = facts.config.paths
    for name, mode in ((paths.pki_dir, 0o777), (paths.cachedir, 0o755)):
        Path(name).chmod(mode)
    for path, mode in (
        (Path(paths.pki_dir) / "master.pem", 0o644),
        (Path(paths.cachedir) / ".root_key", 0o444),
        (Path(paths.cachedir) / "jobs.sqlite", 0o600),
        (Path(paths.cachedir) / "reports.sqlite", 0o644),
    ):
        path.write_text("")
        path.chmod(mode)
    (tmp_path / "master").chmod(0o644)
    found = show(files.look(facts))
    assert {where: what for _severity, what, where, _mend in found} == {
        f"{paths.pki_dir}/master.pem": "others may read it: its mode is 0644",
        paths.pki_dir: "others may write it: its mode is 0777",
        f"{paths.cachedir}/.root_key": "others may read it: its mode is 0444",
        f"{paths.cachedir}/reports.sqlite": "others may read it: its mode is 0644",
        f"{tmp_path}/master": "everybody may read it, and it has secrets: mysql.passwd",
    }
    assert "hunter2" not in str(found)
