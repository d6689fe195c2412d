"""Passwords among options are not shown."""

from saltlite.config.opts import mask_secrets


def test_what_looks_like_a_password_is_masked_at_any_depth() -> None:
    options = {
        "sharedsecret": "s", "auth.ldap.bindpw": "s", "mysql.pass": "s", "key_pass": None,
        "git_pillar_passphrase": "", "retcode_passthrough": True, "pass_dir": "/x", "id": "m",
        "ext_pillar": [{"git": [{"x": [{"password": "s"}]}]}],
    }  # fmt: skip
    assert mask_secrets(options) == {
        **options, "sharedsecret": "***", "auth.ldap.bindpw": "***", "mysql.pass": "***",
        "ext_pillar": [{"git": [{"x": [{"password": "***"}]}]}],
    }  # fmt: skip
