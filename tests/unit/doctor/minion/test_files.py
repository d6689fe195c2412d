from pathlib import Path

from doctor_facts import minion_facts, show

from saltlite.doctor.machine import Machine
from saltlite.doctor.minion import files


def test_what_others_may_do(tmp_path):
    facts = minion_facts(tmp_path, Machine())
    paths = facts.config.paths
    for path in (paths.pki_dir, paths.cachedir, paths.extension_modules):
        Path(path).mkdir(mode=0o700, parents=True)
    key = Path(paths.pki_dir) / "minion.pem"
    key.write_text("")
    key.chmod(0o400)
    assert show(files.look(facts)) == []
    key.chmod(0o640)
    Path(paths.extension_modules).chmod(0o775)
    assert [(where, mend) for _s, _w, where, mend in show(files.look(facts))] == [
        (str(key), f"chmod 400 {key}"),
        (paths.extension_modules, f"chmod go-w {paths.extension_modules}"),
    ]


def test_what_states_replaced_and_changed_is_private(tmp_path):
    facts = minion_facts(tmp_path, Machine())
    cachedir = Path(facts.config.paths.cachedir)
    (cachedir / "bucket").mkdir(mode=0o755, parents=True)
    (cachedir / "reports.sqlite").touch(mode=0o644)
    assert [(where, mend) for _s, _w, where, mend in show(files.look(facts))] == [
        (f"{cachedir}/{name}", f"chmod go-rwx {cachedir}/{name}")
        for name in ("bucket", "reports.sqlite")
    ]
