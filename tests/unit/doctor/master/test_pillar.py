import re

from doctor_facts import FakeCache, master_facts, show

from saltlite.doctor.master import pillar
from saltlite.doctor.master.pillar import MINIONS, Timings, judge_timings, spread


def looked(tmp_path, files, minions=2, **options):
    roots = tmp_path / "pillar"
    roots.mkdir()
    for name, text in files.items():
        (roots / name).write_text(text)
    names = [f"m{number}" for number in range(minions)]
    facts = master_facts(
        tmp_path,
        keys={"minions": dict.fromkeys(names, "pem")},
        cache=FakeCache({"grains": {one: {"os": "Debian"} for one in names}}),
        pillar_roots={"base": [str(roots)]},
        **options,
    )
    return roots, show(pillar.look(facts))


TOP = "base: {'*': [a]}\n"


def test_a_quick_pillar(tmp_path):
    _roots, found = looked(tmp_path, {"top.sls": TOP, "a.sls": "x: 1\n"})
    assert found == []


def test_a_slow_file(tmp_path):
    roots, ((severity, what, where, mend),) = looked(
        tmp_path,
        {
            "top.sls": TOP,
            "a.sls": "include: [b]\n",
            "b.sls": "{% set _ = salt['test.sleep'](1) %}\nx: 1\n",
        },
        minions=1,
    )
    assert (severity, where) == ("warning", f"{roots}/b.sls")
    assert re.fullmatch(r"the file takes [\d.]+ s to render, for each minion that has it", what)
    assert "pillar_cache: True" in mend


def test_a_broken_file(tmp_path):
    roots, ((severity, what, where, mend),) = looked(
        tmp_path, {"top.sls": TOP, "a.sls": "password: hunter2\nx: [\n"}
    )
    assert (severity, where) == ("error", "m0, m1")
    assert what.startswith(f"the pillar does not compile: {roots}/a.sls:")
    assert "hunter2" not in what
    assert mend.startswith("salt-run check.pillar")


def test_outer_sources_are_left_out(tmp_path):
    marker = tmp_path / "ran"
    _roots, found = looked(
        tmp_path,
        {"top.sls": TOP, "a.sls": "x: 1\n"},
        ext_pillar=[{"cmd_yaml": f"touch {marker}; echo '{{}}'"}],
    )
    assert (found, marker.exists()) == ([], False)


def test_many_files_that_are_slow_together():
    timings = Timings({f"/p/{number}.sls": [0.3] for number in range(10)}, pillars=1)
    ((severity, what, _where, _mend),) = show(judge_timings(timings))
    assert severity == "warning"
    assert what == "a pillar takes 3.0 s, in 10 files of which none is slow"
    assert show(judge_timings(Timings())) == []


def test_minions_are_spread():
    everyone = [(f"m{number}", {}) for number in range(95)]
    chosen = spread(everyone)
    assert len(chosen) == MINIONS
    assert (chosen[0][0], chosen[-1][0]) == ("m0", "m85")
    assert spread(everyone[:3]) == everyone[:3]
