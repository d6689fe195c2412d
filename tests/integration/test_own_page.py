"""The page that comes with salt-api, in a real browser, as a user of the module ``file``."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from api import ApiCluster
from browser import Page, browsing, chromium_path

MINIONS = 3
JOB = "#/job/"

needs_browser = pytest.mark.skipif(chromium_path() is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiCluster]:
    users = tmp_path_factory.mktemp("users") / "users"
    users.write_text("anna:pw1\nben:pw2\n")
    users.chmod(0o600)
    auth = {
        "file": {
            "^filename": str(users),
            "anna": [".*", "@runner", "@wheel", "@jobs"],
            "ben": ["test.ping"],
        }
    }
    with ApiCluster(minions=MINIONS, master_options={"external_auth": auth}) as one:
        tree = one.root / "master" / "srv"
        tree.mkdir(parents=True, exist_ok=True)
        (tree / "motd.sls").write_text(
            f"{one.root}/motd:\n  file.managed:\n    - contents: '{{{{ grains.id }}}}'\n"
        )
        yield one.start()


@pytest.fixture
def page(cluster: ApiCluster, tmp_path: Path) -> Iterator[Page]:
    with browsing(tmp_path) as one:
        one.resize(1200, 800)
        one.goto(f"http://127.0.0.1:{cluster.api_port}/")
        one.wait_for_text("Checked by")
        yield one
        assert one.errors == []


def log_in(page: Page, user: str = "anna", password: str = "pw1") -> None:
    page.fill("input[name=username]", user)
    page.fill("input[name=password]", password)
    page.fill("select[name=eauth]", "file")
    page.click("form button")
    page.wait_for_text("Log out")


def test_browsers_get_the_page_and_scripts_get_json(cluster: ApiCluster) -> None:
    page = cluster.client.ask("GET", "/", {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert page.status == 200
    assert 'src="page/main.js"' in page.body
    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in policy
    for accept in ("*/*", "application/json"):
        assert cluster.client.ask("GET", "/", {"Accept": accept}).body["return"] == "Welcome"
    for name in ("main.js", "style.css", "icon.svg"):
        assert cluster.client.ask("GET", f"/page/{name}", {"Accept": "*/*"}).status == 200
    for name in ("nothing.js", "..%2fapp.py", "../app.py", "%2e%2e/app.py"):
        assert cluster.client.ask("GET", f"/page/{name}", {"Accept": "*/*"}).status in (403, 404)


@needs_browser
def test_a_job_is_run_and_its_returns_appear(page: Page) -> None:
    log_in(page)
    page.wait_for_text("m3")
    page.click_text("Run")
    page.fill("input[name=fun]", "test.echo")
    page.fill("input[name=args]", "'hello there'")
    page.eval("window.stillHere = true")
    page.click("form button")
    page.wait_for_text("3 of 3 returned")
    assert page.text().count("hello there") == MINIONS
    assert page.eval("window.stillHere")  # no reload


@needs_browser
def test_states_are_tried_before_they_are_applied(page: Page, cluster: ApiCluster) -> None:
    log_in(page)
    page.click_text("Run")
    page.fill("input[name=tgt]", "m1")
    page.fill("input[name=fun]", "state.apply")
    page.fill("input[name=args]", "motd")
    page.click("form button")
    page.wait_for_text("1 would change")
    assert not (cluster.root / "motd").exists()
    page.click_text("Apply to 1 minion")
    page.wait_for_text("1 changed")
    assert (cluster.root / "motd").read_text() == "m1\n"
    page.click_text("Minions")
    page.wait_for_text("1 states, 1 changed")


@needs_browser
def test_keys_and_jobs_appear_by_themselves(page: Page, cluster: ApiCluster) -> None:
    log_in(page)
    page.click_text("Keys")
    page.wait_for_text("accepted")
    finger = cluster.salt_key("-f", "m1", "--out=json").json["minions"]["m1"]
    page.wait_for_text(finger)
    page.click_text("Jobs")
    page.wait_for("document.querySelector('table') !== null")
    cluster.salt("*", "test.echo", "from-elsewhere")
    page.wait_for_text("test.echo")
    page.wait_for_text(f"{MINIONS} of {MINIONS}")
    page.click_text("Events")
    cluster.salt_run("event.send", "my/own/tag", '{"a": 1}')
    page.wait_for_text("my/own/tag")


@needs_browser
def test_one_minion_and_why_it_is_missing(page: Page, cluster: ApiCluster) -> None:
    log_in(page)
    page.click_text("m2")
    page.wait_for_text("saltversion")
    cluster.minions["m2"].stop()
    try:
        cluster.salt("*", "test.ping", "-t", "1")
        page.click_text("Jobs")
        page.wait_for("document.querySelector('td a.mono') !== null")
        page.click("td a.mono")
        page.click_text("Why are some missing?")
        page.wait_for_text("does not answer")  # all of 127.0.0.1 is connected
    finally:
        cluster.minions["m2"].start()
        cluster.wait_for_ping("m2")


@needs_browser
def test_rights_are_those_of_who_logged_in(page: Page) -> None:
    log_in(page, "ben", "pw2")
    page.wait_for_text("You have no right to do that.")
    page.click_text("Run")
    page.click("form button")
    page.wait_for_text("You have no right to do that.")
    assert "Log out" in page.text()
    page.click_text("Log out")
    page.wait_for_text("Checked by")


@needs_browser
def test_wrong_credentials_say_so(page: Page) -> None:
    page.fill("input[name=username]", "anna")
    page.fill("input[name=password]", "wrong")
    page.fill("select[name=eauth]", "file")
    page.click("form button")
    page.wait_for_text("These credentials are wrong", within_s=30)


THOUSAND = """
(async () => {
  const { KeyedTable } = await import("/page/table.js");
  const cell = (row) => `${row.id} ${row.value}`;
  const table = new KeyedTable([{ title: "A", sort: (row) => row.id, cell }], (row) => row.id, "t");
  document.body.append(table.element);
  const rows = Array.from({ length: 1000 }, (_, at) => ({ id: `web${at}`, value: 0 }));
  table.set(rows);
  const untouched = table.elements.get("web7");
  const began = performance.now();
  for (const row of rows.slice(500)) table.update({ ...row, value: 1 });
  table.filter((row) => row.id.includes("99"));
  const tookMs = performance.now() - began;
  return { tookMs, kept: table.elements.get("web7") === untouched,
           shown: table.body.childElementCount, text: table.get("web999").value };
})()
"""


@needs_browser
def test_a_thousand_minions_are_changed_row_by_row(page: Page) -> None:
    found = page.eval(THOUSAND)
    assert found["kept"]  # who did not return is not drawn again
    assert (found["shown"], found["text"]) == (19, 1)
    assert found["tookMs"] < 1000  # 500 returns and a filter; 18 ms here, beside other work


@needs_browser
def test_keyboard_and_phone(page: Page) -> None:
    page.resize(360, 700)
    page.eval("document.querySelector('input[name=username]').focus()")
    for text, keys in (("anna", ["Tab"]), ("pw1", ["Tab", "Tab"])):
        page.call("Input.insertText", text=text)
        for key in keys:
            page.press(key)
    page.press("Enter")
    page.wait_for_text("Log out")
    page.wait_for_text("m3")
    assert page.eval("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_what_the_page_makes_of_values() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        ["node", "--test", "tests/unit/api/page_text.test.mjs"],
        cwd=root, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
