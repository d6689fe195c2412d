"""Rows and keys of real Salt 3006.30: ours are the same, and are read as Salt reads its own.

Recorded by tests/cases/record/returners; Salt read what ours wrote as what it had written itself.
"""

import json
import shutil

import databases
import pytest
import returner_calls
from repository import DATA

CASES = DATA / "returners"
CALLS = json.loads((CASES / "calls.json").read_text())
PROGRAMS = {"mysql": "mariadbd", "redis": "redis-server"}
DRIVERS = {"mysql": "pymysql", "redis": "redis"}


@pytest.fixture(scope="module", params=returner_calls.NAMES)
def name(request):
    pytest.importorskip(DRIVERS.get(request.param, "psycopg"))
    found = (
        shutil.which(PROGRAMS[request.param])
        if request.param in PROGRAMS
        else databases.postgres_programs()
    )
    if found is None:
        pytest.skip("there is no server for it")
    return request.param


@pytest.fixture(scope="module")
def recorded(name):
    return json.loads((CASES / f"{name}.json").read_text())


@pytest.fixture(scope="module")
def server(name, recorded):
    with returner_calls.server(name) as one:
        one.make("ours")
        one.make("salts")
        one.fill("salts", recorded["rows"])
        with returner_calls.ours(name, one.options("ours")) as returner:
            for fun, *args in CALLS["writes"]:
                returner.call(fun, *args)
        yield one


def test_what_is_written(name, recorded, server):
    found = server.rows("ours")
    if name == "redis":
        assert len(found.pop("events")["value"]) == 2  # Salt's keeps none
    assert found == recorded["rows"]


@pytest.mark.parametrize("written_by", ["salts", "ours"])
def test_what_is_read(name, recorded, server, written_by):
    with returner_calls.ours(name, server.options(written_by)) as returner:
        found = [returner.call(fun, *args) for fun, *args in CALLS["reads"]]
    assert [sort(one) for one in found] == [sort(one) for one in expected(name, recorded)]


def expected(name, recorded):
    """What Salt answered, but for what is wrong there and differs in docs/differences.md."""
    for call, said in zip(CALLS["reads"], recorded["read"], strict=True):
        value = said.get("return")
        if call[0] == "get_load":
            value = value or None  # of one that is not known
        if call == ["get_fun", "test.ping"] and name != "redis":
            jids = [fields[1] for fields in CALLS["writes"] if fields[0] == "save_load"]
            assert value is None or value["m1"]["jid"] == jids[0]  # not the newest
            value = {"m1": returned("m1", jids[-1]), "m2": returned("m2", jids[0])}
        elif call[0] == "get_fun" and "error" in said:
            assert name == "postgres"
            value = {one["id"]: one for one in returns() if one["fun"] == call[1]}
        yield value


def returns():
    return [fields[1] for fields in CALLS["writes"] if fields[0] == "returner"]


def returned(minion, jid):
    return next(one for one in returns() if (one["id"], one["jid"]) == (minion, jid))


def sort(value):
    return sorted(value) if isinstance(value, list) else value


def test_salt_reads_ours_as_its_own(recorded):
    assert [sort_answer(one) for one in recorded["read_ours"]] == [
        sort_answer(one) for one in recorded["read"]
    ]


def sort_answer(said):
    return {key: sort(value) for key, value in said.items()}
