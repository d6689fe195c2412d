import pytest
from doctor_facts import master_facts, show

from saltlite.doctor.master import cluster
from saltlite.doctor.master.cluster import judge_health
from saltlite.errors import ConfigError
from saltlite.runner_context import ClusterHealth

WELL = {
    "place": "db:5432/salt",
    "versions": {"n1": "1", "n2": "1"},
    "keeps_house": "n1",
    "apart_s": 0.1,
}


def judged(**given):
    return show(judge_health(ClusterHealth(**{**WELL, **given}), "serve"))


def test_a_cluster_that_is_well():
    assert judged() == []
    assert judged(standbys=1, is_synchronous=True) == []


@pytest.mark.parametrize(
    ("given", "severity", "what", "where"),
    [
        (
            {"away": "connection refused"},
            "error",
            "PostgreSQL cannot be used, and this node serves its own minions alone: connection "
            "refused",
            "db:5432/salt",
        ),
        (
            {"waiting": 3},
            "warning",
            "3 jobs and returns wait on this node's disk for PostgreSQL",
            "db:5432/salt",
        ),
        ({"silent": {"n3": 61.0}}, "error", "nothing was heard of this node for 61 s", "n3"),
        (
            {"versions": {"n1": "1", "n2": "2"}},
            "warning",
            "the nodes have different versions",
            "n1 1, n2 2",
        ),
        (
            {"keeps_house": ""},
            "warning",
            "no node keeps house: old jobs are not forgotten",
            "db:5432/salt",
        ),
        (
            {"apart_s": -7.0},
            "warning",
            "this machine's clock is 7 s behind that of PostgreSQL",
            "db:5432/salt",
        ),
        (
            {"standbys": 1},
            "note",
            "PostgreSQL has 1 standbys and waits for none of them: what it acknowledged last may "
            "be lost in a fail-over",
            "db:5432/salt",
        ),
    ],
)
def test_what_is_wrong(given, severity, what, where):
    ((found, said, place, mend),) = judged(**given)
    assert (found, said, place) == (severity, what, where)
    assert mend


class Access:
    """A cluster that cannot be asked."""

    def examine(self):
        raise ConfigError("not a connection string of libpq", option="cluster_dsn")


def test_a_cluster_that_cannot_be_asked(tmp_path):
    facts = master_facts(tmp_path, cluster=Access(), cluster_id="c")
    ((severity, what, _where, _mend),) = show(cluster.look(facts))
    assert severity == "error"
    assert what.startswith("the cluster cannot be asked: cluster_dsn: not a connection string")


def test_a_master_without_a_cluster(tmp_path):
    found = show(cluster.look(master_facts(tmp_path, cluster=Access())))
    assert found == [("unseen", "cluster_id is not set", "", "")]
