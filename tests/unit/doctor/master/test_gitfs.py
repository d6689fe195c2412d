import subprocess

from doctor_facts import master_facts, show
from programs import need

from saltlite.doctor.master import gitfs


def looked(tmp_path, url, **options):
    facts = master_facts(
        tmp_path, gitfs_remotes=[url], **{"fileserver_backend": ["gitfs"], **options}
    )
    return facts, show(gitfs.look(facts))


def test_a_repository_that_is_there(tmp_path):
    need("git")
    place = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", "--bare", str(place)], check=True)
    _facts, found = looked(tmp_path, f"file://{place}")
    assert found == []
    assert not (tmp_path / "var").exists()  # nothing is fetched


def test_a_repository_that_is_not(tmp_path):
    need("git")
    _facts, ((severity, what, where, mend),) = looked(
        tmp_path, f"https://user:hunter2@localhost:1/{tmp_path.name}.git"
    )
    assert severity == "error"
    assert what.startswith("the repository cannot be reached: git ls-remote exits with 128")
    assert where == f"https://localhost:1/{tmp_path.name}.git"
    assert mend == f"as root: git ls-remote {where}"
    assert "hunter2" not in what


def test_remotes_that_nobody_serves(tmp_path):
    _facts, ((severity, what, where, mend),) = looked(
        tmp_path, "file:///x", fileserver_backend=["roots"]
    )
    assert (severity, what) == ("error", "gitfs_remotes are set, but no files come from them")
    assert where.startswith(f"{tmp_path}/master:")
    assert mend == "add gitfs to fileserver_backend"
