"""What an audit tells the master."""

from __future__ import annotations

from saltlite.core.state_reports import read_runs
from saltlite.highstate.auditing import describe_audit


def test_an_audit_of_which_states_failed() -> None:
    answer = {"result": False, "comment": "no", "changes": {}, "__id__": "a", "__sls__": "one"}
    given = {"fun": "state.audit", "return": {"file_|-a_|-/a_|-managed": answer}}
    (run_,) = read_runs(given, jid="j", minion="web1", user="", now_s=0.0)
    tag, data = describe_audit("web1", "j", run_)
    assert tag == "salt/audit/web1/failed"
    assert [one["result"] for one in data["resources"]] == [False]
