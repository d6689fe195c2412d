"""A stand-in for the master, and who asks it."""

import pytest
from standin import StandIn, pings

from saltlite.client.jobs import JobClient


@pytest.fixture
def master():
    with StandIn({"db1": pings, "web1": pings}) as standin:
        yield standin


@pytest.fixture
def jobs(master):
    with JobClient(master.config) as found:
        yield found
