"""The answers of ``changes.*``, read from a file of reports."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from report_runs import MODE, make_row, make_run

from saltlite.core.output_options import OutputOptions
from saltlite.core.state_reports import PropertyChange
from saltlite.errors import FunctionError, UsageError
from saltlite.jobs.report_file import StateReportFile
from saltlite.jobs.report_queries import read_moment
from saltlite.loader.outputters import render
from saltlite.runners import changes

NOW_S = datetime.now(timezone.utc).timestamp()
HOUR_S = 3600.0
DIFF = PropertyChange("diff", None, "--- \n+++ \n@@ -1 +1 @@\n-a\n+b\n")


class Context:
    """What these runners look at."""

    def __init__(self, reports: StateReportFile) -> None:
        self.reports: Callable[[], StateReportFile] = lambda: reports

    def expected(self, tgt: str, tgt_type: str) -> list[str]:
        del tgt_type
        return [one for one in ("m1", "m2") if one == tgt]


@pytest.fixture
def ctx(tmp_path: Path) -> Any:
    reports = StateReportFile(tmp_path)
    nginx = make_row(1, name="nginx", function="service.running", ident="web", sls="web.nginx")
    reports.add_runs(
        [
            make_run(NOW_S - 50 * HOUR_S, rows=(make_row(),), user="sudo_alice"),
            make_run(NOW_S - 2 * HOUR_S, rows=(make_row(changes=(DIFF,)), nginx), user="bob"),
            make_run(
                NOW_S - HOUR_S,
                "m2",
                rows=(
                    make_row(result=False, changes=(), comment="no such user", duration_ms=900.0),
                    make_row(1, result=True, changes=(), duration_ms=77.0, name="slow"),
                ),
            ),
            make_run(NOW_S - 60.0, "m2", test=True, rows=(make_row(result=None),)),
        ]
    )
    return Context(reports)


def names(found: dict[str, Any]) -> list[tuple[str, str]]:
    assert found["outputter"] == "report"
    return [(one["minion"], one["name"]) for one in found["data"]]


def test_changes_of_real_runs_the_newest_first(ctx: Any) -> None:
    found = changes.list_(ctx)
    assert names(found) == [("m1", "/etc/motd"), ("m1", "nginx"), ("m1", "/etc/motd")]
    oldest = found["data"][-1]
    assert oldest["changes"] == {"mode": {"old": "0600", "new": "0644"}}
    assert (oldest["user"], oldest["sls"], oldest["id"]) == ("sudo_alice", "motd", "motd")
    assert (oldest["result"], oldest["test"], oldest["duration_ms"]) == (True, False, 1.5)


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ({"since": "yesterday"}, 2),
        ({"since": "3h", "path": "/etc/motd"}, 1),
        ({"until": "3h"}, 1),
        ({"by": "alice"}, 1),
        ({"by": "b*"}, 2),
        ({"by": "root"}, 0),
        ({"path": "/etc/*"}, 2),
        ({"sls": "web.*"}, 1),
        ({"id": "web"}, 1),
        ({"function": "service.*"}, 1),
        ({"limit": 1}, 1),
        ({"result": False}, 1),
        ({"result": "would"}, 1),
        ({"test": True}, 1),
        ({"test": True, "result": True}, 1),
        ({"test": True, "result": "None"}, 1),
        ({"test": "all"}, 4),
        ({"test": "all", "result": "None"}, 4),
        ({"test": "all", "result": True}, 3),
        ({"test": "all", "result": "would"}, 1),
        ({"jid": "none"}, 0),
        ({"tgt": "m2"}, 0),
    ],
)
def test_what_restricts_them(ctx: Any, words: dict[str, Any], count: int) -> None:
    assert len(changes.list_(ctx, **words)["data"]) == count


def test_failures_say_why(ctx: Any) -> None:
    (one,) = changes.failed(ctx)["data"]
    assert (one["minion"], one["comment"]) == ("m2", "no such user")
    assert changes.failed(ctx, "m1")["data"] == []


def test_the_slowest_once_for_each_minion(ctx: Any) -> None:
    found = changes.slowest(ctx, limit=3)["data"]
    assert [one["duration_ms"] for one in found] == [900.0, 77.0, 1.5]
    assert found[0]["times"] == 2  # the test run had it too


def test_drift_of_the_last_days(ctx: Any) -> None:
    (one,) = changes.drift(ctx)["data"]
    assert (one["minion"], one["drift"], one["times"]) == ("m2", "would change", 1)
    assert changes.drift(ctx, path="/etc/issue")["data"] == []
    assert changes.drift(ctx, sls="mo*", function="file.managed", id="motd")["data"] == [one]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"since": "whenever"}, "since=whenever: wants yesterday, today, 2h"),
        ({"until": "2026-13-01"}, "until=2026-13-01: wants"),
        ({"limit": 0}, "limit=0: wants a number from 1 to 10000"),
        ({"limit": "many"}, "limit=many: wants"),
        ({"limit": True}, "limit=True: wants"),
        ({"test": "maybe"}, "test=maybe: wants True"),
        ({"result": "maybe"}, "result=maybe: wants True, False or would"),
    ],
)
def test_words_that_mean_nothing(ctx: Any, words: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        changes.list_(ctx, **words)


def test_a_target_that_means_nobody(ctx: Any) -> None:
    with pytest.raises(FunctionError, match="no accepted minion matches glob web9"):
        changes.list_(ctx, "web9")


@pytest.mark.parametrize(
    ("word", "at_s"),
    [
        ("2026-01-02", 1767312000.0),
        (20260102, 1767312000.0),
        ("2026-01-02T03:04:05", 1767323045.0),
        ("2026-01-02T03:04:05Z", 1767323045.0),
        ("2026-01-02T04:04:05+01:00", 1767323045.0),
        ("2h", 1767312000.0 - 7200),
        ("yesterday", 1767312000.0 - 86400),
    ],
)
def test_moments(word: object, at_s: float) -> None:
    now = datetime(2026, 1, 2, tzinfo=timezone.utc)
    assert read_moment("since", word, now) == at_s


def show(data: Any) -> list[str]:
    return render(data, "report", OutputOptions()).splitlines()


def test_as_text(ctx: Any) -> None:
    lines = show(changes.list_(ctx, since="yesterday", path="/etc/motd")["data"])
    assert lines[0].split("  ")[1:] == ["m1", "file.managed", "/etc/motd"]
    assert lines[1].startswith("    motd in motd; 1.5 ms; job ")
    assert lines[1].endswith("; by bob")
    assert lines[2:] == ["    diff:", *[f"        {one}" for one in DIFF.new.splitlines()]]  # type: ignore[union-attr]
    assert show(changes.failed(ctx)["data"])[-1] == "    no such user"
    assert "would change, 1 times since" in show(changes.drift(ctx)["data"])[1]
    assert "    not done; motd in motd" in show(changes.list_(ctx, test=True)["data"])[1]
    assert show([]) == ["Nothing was found."]


def test_a_digest_that_was_there_is_no_value_that_went(ctx: Any) -> None:
    gone = {"shell": {"old": "/bin/sh", "new": None}, "/a:sha256": {"old": "0e90", "new": None}}
    lines = show([{**changes.list_(ctx)["data"][0], "changes": gone}])
    assert lines[2:] == ["    shell: /bin/sh -> (none)", "    /a:sha256: was 0e90"]


def test_text_of_others_is_harmless_and_other_forms_are_shown_nested() -> None:
    entry = {"time": "t", "minion": "m\x1b[2J", "function": "f", "name": "a\nb", "id": "i"}
    entry |= {"changes": {"p\x1b": {"old": "\x1b", "new": None}}, "comment": "c\x1b"}
    assert "\x1b" not in "\n".join(show([entry]))
    assert show({"a": 1}) == ["a:", "    1"]
    assert show(["x"]) == ["- x"]
    assert show({"local": []}) == ["Nothing was found."]
    assert MODE.new is not None
