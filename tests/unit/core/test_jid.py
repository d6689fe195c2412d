from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltlite.core.jid import (
    SHARES,
    jid_time,
    latest_stored,
    latest_usable,
    new_jid,
    usable_jid,
)

NOON = datetime(2026, 11, 20, 12, 8, 59, 431099, tzinfo=timezone.utc)
TIMES = st.datetimes(
    datetime(1970, 1, 1),  # noqa: DTZ001 - hypothesis wants it so
    datetime(9000, 1, 1),  # noqa: DTZ001 - naive on purpose
    timezones=st.just(timezone.utc),
)


def test_a_jid_is_the_time_in_digits():
    assert new_jid(NOON, None) == "20261120120859431099"
    assert jid_time("20261120120859431099") == NOON
    assert jid_time("20261120120859431099_17") == NOON


def test_the_clock_at_boot_has_four_digits_of_year_as_well():
    assert new_jid(datetime(1970, 1, 1, tzinfo=timezone.utc), None) == "19700101000000000000"


def test_a_clock_that_stands_or_is_set_back_gives_the_next_microsecond():
    assert new_jid(NOON, "20261120120859431099") == "20261120120859431100"
    assert new_jid(NOON - timedelta(days=3650), "20261231235959999999") == "20270101000000000000"
    assert new_jid(NOON, "20261120120859431099_3") == "20261120120859431100"


@pytest.mark.parametrize("bad", ["", "2026", "x" * 20, "req", "٣" * 20, "20261399000000000000"])
def test_what_is_not_a_job_id_is_refused(bad):
    with pytest.raises(ValueError, match=r".+"):
        jid_time(bad)


@given(st.lists(TIMES, min_size=1, max_size=20))
def test_ids_only_grow_whatever_the_clock_does(times):
    last = None
    for now in times:
        jid = new_jid(now, last)
        assert len(jid) == 20
        assert jid.isdigit()
        assert last is None or jid > last
        last = jid


@given(st.lists(st.tuples(TIMES, st.integers(0, 300)), min_size=1, max_size=20))
def test_ids_of_different_shares_never_meet(moments):
    """Each goes on from the highest of all that are on record, as a node does at its start."""
    given_by, last = {}, None
    for now, share in moments:
        jid = new_jid(now, last, share)
        assert last is None or jid > last
        assert int(jid[-2:]) == share % SHARES
        mine = new_jid(now, jid, (share + 1) % SHARES)
        assert given_by.setdefault(jid, share) == share
        assert given_by.setdefault(mine, share + 1) == share + 1
        last = max(jid, mine)


def test_a_share_takes_less_than_a_millisecond():
    assert new_jid(NOON, None, 7) == "20261120120859431107"
    assert new_jid(NOON, "20261120120859431107", 7) == "20261120120859431207"
    assert new_jid(NOON, "20261120120859999999", 99) == "20261120120900000099"


@given(TIMES)
def test_round_trip(now):
    assert jid_time(new_jid(now, None)) == now


DAMAGED = ["99999999999999999999", "20261399000000000000", "99991231235959999999_1", "x", "", "req"]


@pytest.mark.parametrize("last", [*DAMAGED, "99991231235959999999"])
def test_a_damaged_last_id_stops_nothing(last):
    assert new_jid(NOON, last) == "20261120120859431099"


@pytest.mark.parametrize(
    ("jid", "usable"),
    [
        ("20261120120859431099", True),
        ("20261120120959431099", True),  # a minute ahead
        ("20261120120959431100", False),
        ("19700101000000000000", True),
        ("20261120120859431099_17", True),
        *((one, False) for one in DAMAGED),
    ],
)
def test_an_id_from_outside_is_a_time_that_has_come(jid, usable):
    assert usable_jid(jid, NOON) is usable


def test_new_ids_go_on_from_the_latest_stored_one_that_can_be_one():
    stored = ["20261121120859431099", "20261120110000000000", "20251120110000000000"]
    assert latest_usable([*DAMAGED, *stored], NOON) == stored[0]
    assert latest_usable(["20261121120859431100", *stored[1:]], NOON) == stored[1]
    assert latest_usable(DAMAGED, NOON) is None
    assert latest_stored(NOON) > stored[0]
