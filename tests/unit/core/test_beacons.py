"""When beacons run, where, and which of their events go out: tables without any process."""

from __future__ import annotations

import math
from typing import Any

import pytest

from saltlite.core.beacons import (
    OURS,
    PROCESSES_LIMIT,
    RESTART_S,
    RUN_LIMIT_S,
    SLOW_S,
    THEIRS,
    BadBeacon,
    BeaconPasses,
    Changes,
    Checked,
    Configured,
    Died,
    End,
    Instruction,
    Kill,
    Passed,
    RunBeacons,
    Ticked,
    list_form,
    merge_beacons,
    read_beacon,
    read_beacons,
)

BUILT_IN = ("ps", "load", "inotify")


def passes(every_s: float = 1.0, **beacons: Any) -> BeaconPasses:
    made = BeaconPasses(every_s, BUILT_IN)
    configure(made, 0.0, **beacons)
    return made


def configure(made: BeaconPasses, now_s: float, **beacons: Any) -> list[Instruction]:
    found, wrong = read_beacons(beacons)
    assert wrong == []
    return made.on(Configured(found), now_s)


def run_at(made: BeaconPasses, now_s: float, *, state_runs: bool = False) -> list[str]:
    """Which beacons run at a tick; every pass ends at once."""
    ran: list[str] = []
    for each in made.on(Ticked(state_runs), now_s):
        assert isinstance(each, RunBeacons)
        ran += each.run
        assert made.on(Passed(each.process), now_s) == []
    return ran


# --- reading ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ([{"a": 1}, {"interval": 5}], {"a": 1, "interval": 5}),
        ([{"a": 1, "b": 2}], {"a": 1, "b": 2}),
        ({"a": 1, "interval": 5}, {"a": 1, "interval": 5}),
        ([{"a": 1}, {"a": 2}], {"a": 2}),
        ([], {}),
        (None, {}),
    ],
)
def test_a_list_of_maps_and_a_map_are_the_same(data: Any, options: dict[str, Any]) -> None:
    assert read_beacon("x", data).options == options


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("text", "must be a list"),
        ([1], "must be a list"),
        ([{"interval": "soon"}], "interval must be seconds"),
        ([{"interval": -1}], "interval must be seconds"),
        ([{"interval": True}], "interval must be seconds"),
        ([{"interval": math.inf}], "interval must be seconds"),
        ([{"enabled": "no"}], "enabled must be True or False"),
        ([{"run_once": 1}], "run_once must be True or False"),
        ([{"beacon_module": 5}], "beacon_module must be a name"),
    ],
)
def test_what_cannot_be_read_is_said(data: Any, words: str) -> None:
    with pytest.raises(BadBeacon, match=words):
        read_beacon("x", data)


def test_one_that_cannot_be_read_does_not_keep_the_others_from_running() -> None:
    found, wrong = read_beacons({"ps": [{"a": 1}], "bad": "text"})
    assert list(found) == ["ps"]
    assert wrong == [
        "Beacon bad configuration invalid, not running. "
        "Configuration for bad beacon must be a list of maps."
    ]


@pytest.mark.parametrize(
    ("pillar", "own", "merged"),
    [
        ({"a": [1]}, {"a": [2]}, {"a": [2]}),
        ({"a": [1], "enabled": True}, {"b": [2]}, {"a": [1], "enabled": True, "b": [2]}),
        ({"enabled": False}, {"enabled": True}, {"enabled": True}),
        (None, {"b": [2]}, {"b": [2]}),
        ("text", None, {}),
    ],
)
def test_the_configuration_wins_over_the_pillar(pillar: Any, own: Any, merged: Any) -> None:
    assert merge_beacons(pillar, own) == merged


@pytest.mark.parametrize(
    ("merged", "names"),
    [
        ({"ps": [], "load": []}, ["ps", "load"]),
        ({"ps": [], "enabled": False}, []),
        ({"ps": [], "enabled": True}, ["ps"]),
        ({"ps": [{"enabled": False}], "load": [{"enabled": True}]}, ["load"]),
    ],
)
def test_all_beacons_or_one_can_be_switched_off(merged: Any, names: list[str]) -> None:
    assert list(read_beacons(merged)[0]) == names


def test_list_form_keeps_order_and_makes_keys_text() -> None:
    assert list_form("x", {1: "a", "b": 2}) == [{"1": "a"}, {"b": 2}]


# --- times -----------------------------------------------------------------------------------


def test_without_an_interval_a_beacon_runs_at_every_tick() -> None:
    made = passes(ps=[])
    assert [run_at(made, now) for now in (0.0, 1.0, 2.5)] == [["ps"]] * 3
    assert made.next_s() == 3.5


def test_an_interval_of_nothing_is_none() -> None:
    made = passes(ps=[{"interval": 0}])
    assert run_at(made, 0.0) == ["ps"]


def test_with_an_interval_the_first_run_is_after_one() -> None:
    made = passes(ps=[{"interval": 5}])
    ran = [now for now in range(16) if run_at(made, float(now))]
    assert ran == [5, 10, 15]


def test_the_next_tick_is_when_something_is_due_and_no_sooner_than_a_pass() -> None:
    made = passes(ps=[{"interval": 30}], load=[{"interval": 20}])
    assert run_at(made, 0.0) == []
    assert made.next_s() == 20.0
    assert run_at(made, 20.0) == ["load"]
    assert made.next_s() == 30.0
    assert BeaconPasses(1.0, ()).next_s() == math.inf


def test_a_late_run_keeps_in_step_and_is_not_made_up_for() -> None:
    made = passes(ps=[{"interval": 10}])
    assert run_at(made, 37.0) == ["ps"]
    assert run_at(made, 39.0) == []
    assert run_at(made, 40.0) == ["ps"]


def test_a_new_configuration_leaves_the_times_of_the_others() -> None:
    made = passes(ps=[{"interval": 10}])
    configure(made, 6.0, ps=[{"interval": 10}], load=[{"interval": 10}])
    assert run_at(made, 10.0) == ["ps"]
    assert run_at(made, 16.0) == ["load"]


def test_a_changed_beacon_begins_anew() -> None:
    made = passes(ps=[{"interval": 10}])
    configure(made, 6.0, ps=[{"interval": 11}])
    assert run_at(made, 10.0) == []
    assert run_at(made, 17.0) == ["ps"]


def test_run_once_is_once_until_it_is_configured_anew() -> None:
    made = passes(ps=[{"run_once": True}, {"interval": 2}])
    assert [run_at(made, float(now)) for now in range(1, 6)] == [[], ["ps"], [], [], []]
    assert made.next_s() == math.inf
    configure(made, 6.0, ps=[{"run_once": True}, {"interval": 1}])
    assert run_at(made, 7.0) == ["ps"]


# --- state runs ------------------------------------------------------------------------------


def test_a_beacon_that_pauses_for_states_is_closed_once_and_skipped() -> None:
    made = passes(ps=[], inotify=[{"disable_during_state_run": True}])
    assert made.on(Ticked(), 0.0) == [RunBeacons(OURS, ("ps", "inotify"))]
    made.on(Passed(OURS), 0.1)
    assert made.on(Ticked(state_runs=True), 1.0) == [RunBeacons(OURS, ("ps",), ("inotify",))]
    made.on(Passed(OURS), 1.1)
    assert made.on(Ticked(state_runs=True), 2.0) == [RunBeacons(OURS, ("ps",))]
    made.on(Passed(OURS), 2.1)
    assert made.on(Ticked(), 3.0) == [RunBeacons(OURS, ("ps", "inotify"))]


def test_one_that_has_not_run_yet_needs_no_closing() -> None:
    made = passes(inotify=[{"disable_during_state_run": True}])
    assert made.on(Ticked(state_runs=True), 0.0) == []


def test_a_run_once_that_is_skipped_for_states_runs_afterwards() -> None:
    made = passes(ps=[{"run_once": True}, {"disable_during_state_run": True}])
    assert run_at(made, 0.0, state_runs=True) == []
    assert run_at(made, 1.0) == ["ps"]


# --- processes -------------------------------------------------------------------------------


def test_ours_share_a_process_and_those_of_users_have_their_own() -> None:
    made = passes(ps=[], mine=[], other=[{"beacon_module": "load"}])
    assert made.on(Ticked(), 0.0) == [
        RunBeacons(OURS, ("ps", "other")),
        RunBeacons("beacon mine", ("mine",)),
    ]


def test_a_busy_process_is_left_alone_and_the_other_one_goes_on() -> None:
    made = passes(ps=[], mine=[])
    made.on(Ticked(), 0.0)
    made.on(Passed(OURS), 0.1)
    assert made.on(Ticked(), 1.0) == [RunBeacons(OURS, ("ps",))]


def test_a_process_without_beacons_ends() -> None:
    made = passes(ps=[], mine=[])
    run_at(made, 0.0)
    assert configure(made, 1.0, ps=[]) == [End("beacon mine")]
    assert configure(made, 2.0) == [End(OURS)]


def test_a_busy_process_without_beacons_ends_after_its_pass() -> None:
    made = passes(ps=[])
    made.on(Ticked(), 0.0)
    assert configure(made, 1.0) == []
    assert made.on(Passed(OURS), 2.0) == [End(OURS)]


def test_an_invalid_beacon_does_not_run_until_it_is_configured_otherwise() -> None:
    made = passes(ps=[], load=[])
    made.on(Ticked(), 0.0)
    made.on(Passed(OURS, invalid=["ps"]), 0.1)
    assert run_at(made, 1.0) == ["load"]
    configure(made, 2.0, ps=[{"a": 1}], load=[])
    assert run_at(made, 3.0) == ["ps", "load"]


def test_new_code_gives_an_invalid_one_another_try() -> None:
    made = passes(ps=[], load=[{"run_once": True}])
    made.on(Ticked(), 0.0)
    made.on(Passed(OURS, invalid=["ps"]), 0.1)
    found, _ = read_beacons({"ps": [], "load": [{"run_once": True}]})
    made.on(Configured(found), 1.0)
    assert run_at(made, 1.0) == []
    made.on(Configured(found, has_new_code=True), 2.0)
    assert run_at(made, 2.0) == ["ps"]


def test_what_is_found_invalid_before_its_time_never_runs() -> None:
    made = passes(ps=[{"interval": 5}], load=[{"interval": 5}])
    assert made.on(Checked(["ps"]), 1.0) == []
    assert run_at(made, 5.0) == ["load"]


def test_a_slow_beacon_gets_a_process_of_its_own_and_leaves_the_old_one() -> None:
    made = passes(ps=[], load=[])
    made.on(Ticked(), 0.0)
    assert made.on(Passed(OURS, slow=["ps"]), 3.0) == [RunBeacons(OURS, (), ("ps",))]
    made.on(Passed(OURS), 3.1)
    assert made.on(Ticked(), 4.0) == [RunBeacons("beacon ps", ("ps",)), RunBeacons(OURS, ("load",))]
    made.on(Passed(OURS), 4.1)
    assert made.on(Ticked(), 5.0) == [RunBeacons(OURS, ("load",))], (
        "the slow one delays itself alone"
    )


def test_the_last_beacon_that_leaves_takes_the_process_with_it() -> None:
    made = passes(ps=[])
    made.on(Ticked(), 0.0)
    made.on(Passed(OURS, slow=["ps"]), 3.0)
    assert made.on(Passed(OURS), 3.1) == [End(OURS)]


def test_only_so_many_have_a_process_of_their_own() -> None:
    names = [f"b{number}" for number in range(PROCESSES_LIMIT + 5)]
    made = passes(**{name: [] for name in names})
    runs = made.on(Ticked(), 0.0)
    assert [each.process for each in runs] == [
        *(f"beacon {name}" for name in names[:PROCESSES_LIMIT]),
        THEIRS,
    ]
    assert runs[-1] == RunBeacons(THEIRS, tuple(names[PROCESSES_LIMIT:]))
    assert made.on(Passed(THEIRS, slow=names[-1:]), 3.0) == [], "there is no room for one more"


# --- what hangs ------------------------------------------------------------------------------


def test_what_hangs_is_killed_and_runs_again_in_its_own_process() -> None:
    made = passes(ps=[], load=[{"interval": 100}])
    made.on(Ticked(), 0.0)
    now_s = 1.0
    found: list[Instruction] = []
    while not found:
        assert now_s < RUN_LIMIT_S + 2
        slow = made.slow_processes(now_s)
        assert slow == ([OURS] if now_s >= SLOW_S else [])
        found = made.on(Ticked(at_work=dict.fromkeys(slow, "ps")), now_s)
        now_s += 1.0
    assert found == [Kill(OURS, ("ps",)), RunBeacons("beacon ps", ("ps",))]
    assert now_s == RUN_LIMIT_S + 1


def test_the_others_of_its_pass_run_again_at_once() -> None:
    made = passes(ps=[{"interval": 10}], load=[{"interval": 10}])
    assert made.on(Ticked(), 10.0) == [RunBeacons(OURS, ("ps", "load"))]
    made.on(Ticked(at_work={OURS: "ps"}), 13.0)
    assert made.on(Ticked(at_work={OURS: "ps"}), 40.0) == [
        Kill(OURS, ("ps",)),
        RunBeacons("beacon ps", ("ps",)),
        RunBeacons(OURS, ("load",)),
    ]


def test_each_beacon_of_a_pass_has_its_own_time() -> None:
    made = passes(ps=[], load=[])
    made.on(Ticked(), 0.0)
    assert made.on(Ticked(at_work={OURS: "ps"}), 20.0) == []
    assert made.on(Ticked(at_work={OURS: "load"}), 28.0) == []
    assert made.on(Ticked(at_work={OURS: "load"}), 57.0) == []
    assert made.on(Ticked(at_work={OURS: "load"}), 58.0)[0] == Kill(OURS, ("load",))


def test_where_nobody_knows_which_one_hangs_each_is_put_alone() -> None:
    made = passes(ps=[{"interval": 5}], load=[{"interval": 5}])
    made.on(Ticked(), 5.0)
    kill, *runs = made.on(Ticked(at_work={OURS: None}), 35.0)
    assert kill == Kill(OURS, ("ps", "load"))
    assert runs == [RunBeacons("beacon ps", ("ps",)), RunBeacons("beacon load", ("load",))]


def test_a_process_that_dies_is_made_again_after_a_while() -> None:
    made = passes(ps=[])
    made.on(Ticked(), 0.0)
    assert made.on(Died(OURS), 1.0) == []
    assert made.on(Ticked(), 2.0) == []
    assert made.on(Ticked(), 1.0 + RESTART_S) == [RunBeacons(OURS, ("ps",))]


# --- what of it goes out ---------------------------------------------------------------------

A, B = {"tag": "t", "v": 1}, {"tag": "t", "v": 2}
OTHER = {"tag": "u", "v": 1}


@pytest.mark.parametrize(
    ("options", "runs", "goes_out"),
    [
        ({}, [[A], [A]], [[A], [A]]),
        ({"onchangeonly": True}, [[A], [A], [B], [B], [A]], [[A], [], [B], [], [A]]),
        ({"onchangeonly": True}, [[A, OTHER], [B, OTHER]], [[A, OTHER], [B]]),
        ({"onchangeonly": True}, [[A], [], [A]], [[A], [], [A]]),
        ({"onchangeonly": True, "emitatstartup": False}, [[A], [A], [B]], [[], [], [B]]),
        ({"emitatstartup": False}, [[A], [A]], [[], [A]]),
        ({"onchangeonly": True, "delay": 2}, [[A], [A], [A], [A]], [[], [], [A], []]),
        ({"onchangeonly": True, "delay": 2}, [[A], [B], [A], [A], [A]], [[], [], [], [], [A]]),
    ],
)
def test_which_events_go_out(options: dict[str, Any], runs: Any, goes_out: Any) -> None:
    changes = Changes.of(read_beacon("x", [options]))
    assert [changes.choose(run, float(now)) for now, run in enumerate(runs)] == goes_out


def test_a_module_may_see_to_its_options_itself() -> None:
    changes = Changes.of(read_beacon("x", [{"onchangeonly": True}]), own=("onchangeonly",))
    assert [changes.choose([A], 0.0), changes.choose([A], 1.0)] == [[A], [A]]
