"""Whatever stands in the system's files: reading goes on, and writing twice is writing once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from saltlite.providers import locale as locales
from saltlite.providers.cron import crontab
from saltlite.providers.cron.crontab import CrontabJob
from saltlite.providers.hosts import table
from saltlite.providers.kernel import parameters
from saltlite.providers.mount import fstab
from saltlite.providers.ssh import keys

WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Zl", "Zp", "Cc", "Zs")), max_size=9
)
LINES = st.lists(
    st.one_of(
        st.text("#@=*/ \t0123456789aPZ_-.:", max_size=30),
        st.sampled_from(
            [
                crontab.HEADER,
                "# c SALT_CRON_IDENTIFIER:x",
                "#DISABLED#* * * * * cmd",
                "@daily cmd",
                "A=b",
                "127.0.0.1 a b # c",
                "/dev/sda1 / ext4 ro 0 1",
                "no-pty ssh-rsa AAAA c",
            ]
        ),
    ),
    max_size=12,
).map(lambda lines: "".join(f"{line}\n" for line in lines))


@given(LINES)
def test_a_crontab_settles(text):
    once = crontab.parse(text).text()
    assert crontab.parse(once).text() == once


@given(LINES, st.sampled_from(["id", "x", "55"]), st.sampled_from(["cmd", "other arg"]))
def test_a_job_is_set_once(text, identifier, cmd):
    found = crontab.parse(text)
    job = CrontabJob(("1", "2", "3", "4", "5"), cmd, identifier)
    assert crontab.put_job(found, job) in ("new", "updated", "present")
    again = crontab.parse(found.text())
    assert crontab.put_job(again, job) == "present"
    assert crontab.drop(again, cmd, {}, identifier, special=False) == "removed"


@given(LINES)
def test_the_table_of_hosts_settles(text):
    once = table.build(table.parse(text))
    assert table.parse(once) == table.parse(table.build(table.parse(once)))


@given(LINES, st.sampled_from(["10.0.0.1", "127.0.0.1"]), st.sampled_from(["a", "web"]))
def test_a_name_comes_and_goes(text, address, name):
    with_name = table.with_name(text, address, name)
    assert name in dict(table.addresses(table.parse(with_name)))[address]
    left = table.parse(table.without_name(with_name, address, name))
    assert name not in dict(table.addresses(left)).get(address, [])


@given(LINES, WORDS.filter(bool))
def test_a_mount_is_set_once(text, name):
    wanted = fstab.FstabLine("/dev/sdb1", fstab.escape_path(f"/{name}"), "ext4", "ro")
    changed, answer = fstab.with_entry(text, wanted, ["device"], not_change=False)
    assert answer in ("new", "change", "present")
    assert fstab.with_entry(changed, wanted, ["device"], not_change=False) == (changed, "present")
    assert f"/{name}" not in fstab.parse(fstab.without_entry(changed, f"/{name}", None))


@given(LINES)
def test_a_key_comes_and_goes(text):
    key = keys.Authorized("QUJD", "ssh-ed25519", "me", ('command="a, b"', "no-pty"))
    changed = keys.with_authorized(text, key)
    assert key in keys.parse_authorized(changed)
    assert keys.with_authorized(changed, key) == changed
    assert key not in keys.parse_authorized(keys.without_authorized(changed, "QUJD"))


@given(LINES, st.sampled_from(["a.b", "kernel.x"]), st.sampled_from(["1", "2 3"]))
def test_a_parameter_is_set_once(text, name, value):
    changed = parameters.with_setting(text, name, value) or text
    assert parameters.same(parameters.parse(changed)[name], value)


@given(LINES)
def test_a_locale_is_set_once(text):
    changed = locales.with_setting(text, "de_DE.UTF-8")
    assert locales.with_setting(changed, "de_DE.UTF-8") == changed
    line = "de_DE.UTF-8 UTF-8"
    generated = locales.with_generated(text, line)
    assert locales.with_generated(generated, line) == generated
