"""What calls real Salt's reactor makes of files, without making them; run by its Python.

    python real_reactor.py < CASES

CASES is JSON, a list of maps with ``files``: texts of SLS. For each the calls are printed, in the
order in which they are made: ``id``, ``kind``, ``fun``, and of a job ``tgt``, ``tgt_type``, ``ret``
and ``arg`` as it is published, of the others ``fun_args`` as their events have them.
"""

import json
import logging
import sys
import tempfile
from pathlib import Path

import salt.client
import salt.config
import salt.runner
import salt.utils.event
import salt.utils.reactor
import salt.wheel

NOTED = []


class Local(salt.client.LocalClient):
    """Publishes nothing."""

    def __init__(self, *_args, **_options):
        self.opts = {"timeout": None}

    def __del__(self):
        """Nothing is open."""

    def _check_pub_data(self, pub_data, listen=True):
        return pub_data

    def pub(self, tgt, fun, arg=(), tgt_type="glob", ret="", **options):
        options = {k: v for k, v in options.items() if v and k == "metadata"}
        NOTED.append({"kind": "local", "fun": fun, "tgt": tgt, "tgt_type": tgt_type, "ret": ret,
                      "arg": arg, **options})  # fmt: skip
        return {"jid": "1", "minions": []}


def noting(client, kind):
    """A client of real Salt's with its functions, which are not called."""

    class Noting(client):
        def low(self, fun, low, **_options):
            arg, kwarg = low["arg"], low["kwarg"]
            NOTED.append({"kind": kind, "fun": fun, "user": low["__user__"],
                          "fun_args": [*arg, *([kwarg] if kwarg else [])]})  # fmt: skip

    return Noting


class Caller:
    """Runs nothing."""

    def __init__(self, *_args):
        """Nothing is loaded."""

    def cmd(self, fun, *args, **kwargs):
        NOTED.append({"kind": "caller", "fun": fun,
                      "fun_args": [*args, *([kwargs] if kwargs else [])]})  # fmt: skip


class Inline:
    """A pool that does everything at once."""

    def __init__(self, *_args, **_options):
        """No thread."""

    def fire_async(self, func, args=(), kwargs=None):
        func(*args, **(kwargs or {}))
        return True


def main():
    logging.disable()
    with tempfile.TemporaryDirectory() as place:
        opts = salt.config.master_config(None)
        opts.update(
            root_dir=place, cachedir=f"{place}/cache", sock_dir=f"{place}/run", pki_dir=place,
            conf_file=f"{place}/master", __role="master", file_client="local", id="m_master",
            extension_modules=f"{place}/ext", reactor=[],
        )  # fmt: skip
        wrap = salt.utils.reactor.ReactWrap
        wrap.reaction_class = {
            "local": Local, "caller": Caller,
            "runner": noting(salt.runner.RunnerClient, "runner"),
            "wheel": noting(salt.wheel.Wheel, "wheel"),
        }  # fmt: skip
        salt.utils.process.ThreadPool = Inline
        reactor = salt.utils.reactor.Reactor(opts)
        reactor.wrap = wrap(opts)
        said = [answer(reactor, case, Path(place)) for case in json.load(sys.stdin)]
    print(json.dumps(said))


def answer(reactor, case, place):
    names = []
    for number, text in enumerate(case["files"], 1):
        names.append(str(place / f"{number}.sls"))
        (place / f"{number}.sls").write_text(text)
    calls = []
    for chunk in reactor.reactions("a/tag", {"id": "m1", "data": {"n": 1}}, names):
        NOTED.clear()
        try:
            reactor.wrap.run(chunk)
        except Exception as error:  # noqa: BLE001 - it ends the reactor
            calls.append({"id": chunk["__id__"], "ends_the_reactor": type(error).__name__})
            continue
        calls += [{"id": chunk["__id__"], **one} for one in NOTED]
        if not NOTED:
            calls.append({"id": chunk["__id__"], "not_made": True})
    return calls


if __name__ == "__main__":
    main()
