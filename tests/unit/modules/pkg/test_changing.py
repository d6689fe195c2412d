from __future__ import annotations

import pytest

from saltlite.modules.pkg import changing
from saltlite.providers.pkg.options import PackageOptions


class WithEpochs:
    """A package manager whose only package is offered with an epoch."""

    def list_installed(self):
        return {}

    def list_offered(self, names, options):
        return {"bind": ["32:9.16-1"]}

    def compare(self, first, second):
        return (key(first) > key(second)) - (key(first) < key(second))

    def normalize(self, name):
        return name

    def parse_arch(self, name):
        return {"name": name, "arch": None}


def key(version):
    epoch, _, rest = version.rpartition(":")
    return int(epoch or 0), rest


@pytest.mark.parametrize(("ignore_epoch", "found"), [(False, None), (True, "32:9.16-1")])
def test_a_condition_without_an_epoch_is_met_if_epochs_do_not_count(ignore_epoch, found):
    errors: list[str] = []
    options = PackageOptions(ignore_epoch=ignore_epoch)
    chosen = changing._resolve_version(WithEpochs(), "bind", "<9.17", options, errors)
    assert (chosen.version if chosen else None) == found
    assert bool(errors) != ignore_epoch
