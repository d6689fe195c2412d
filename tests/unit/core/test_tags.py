from __future__ import annotations

import pytest

from saltlite.core import tags

JID = "20261120120859431099"


@pytest.mark.parametrize(
    ("built", "tag"),
    [
        (tags.job_new(JID), f"salt/job/{JID}/new"),
        (tags.job_ret(JID, "web1"), f"salt/job/{JID}/ret/web1"),
        (tags.job_start(JID, "web1"), f"salt/job/{JID}/start/web1"),
        (tags.job_progress(JID, "web1", 3), f"salt/job/{JID}/prog/web1/3"),
        (tags.job_error(JID), f"salt/job/{JID}/error"),
        (tags.run_new(JID), f"salt/run/{JID}/new"),
        (tags.run_ret(JID), f"salt/run/{JID}/ret"),
        (tags.wheel_new(JID), f"salt/wheel/{JID}/new"),
        (tags.wheel_ret(JID), f"salt/wheel/{JID}/ret"),
        (tags.minion_start("web1"), "salt/minion/web1/start"),
        (tags.minion_refresh("web1"), "minion/refresh/web1"),
        (tags.AUTH, "salt/auth"),
        (tags.KEY, "salt/key"),
    ],
)
def test_tags_are_spelt_as_on_salts_bus(built, tag):
    assert built == tag


def test_a_jobs_tags_begin_alike():
    for tag in (tags.job_new(JID), tags.job_ret(JID, "a"), tags.job_progress(JID, "a", 1)):
        assert tag.startswith(tags.job(JID))


def test_a_return_is_recognised():
    assert tags.parse_job(tags.job_ret(JID, "web1")) == tags.JobTag(JID, "ret", "web1")
    assert tags.parse_job(tags.job_new(JID)) == tags.JobTag(JID, "new")


@pytest.mark.parametrize("tag", ["", "salt", "salt/job", "salt/run/x/ret/y"])
def test_other_tags_are_not_of_jobs(tag):
    assert tags.parse_job(tag) is None


def test_a_job_tag_without_a_kind_is_none():
    assert tags.parse_job("salt/auth") is None
    assert tags.parse_job(f"salt/job/{JID}") is None
