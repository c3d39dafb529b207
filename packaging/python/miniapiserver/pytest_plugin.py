"""The fixtures of the package. pytest loads this module by its entry point."""

import pytest

from . import start


@pytest.fixture(scope="session")
def apiserver_flags():
    """Further flags of the server. Override it in conftest.py."""
    return []


@pytest.fixture(scope="session")
def apiserver(apiserver_flags):
    """A server for all tests of the session."""
    with start(apiserver_flags) as server:
        yield server


@pytest.fixture(scope="session")
def fill_apiserver(apiserver):
    """Fills the server for rewound_apiserver. Override it in conftest.py."""


@pytest.fixture(scope="session")
def _filled(apiserver, fill_apiserver):
    """The name of a checkpoint of the server after fill_apiserver."""
    return apiserver.lab.checkpoint()


@pytest.fixture
def rewound_apiserver(apiserver, _filled):
    """The server of the session, back in the state that fill_apiserver left."""
    apiserver.lab.rewind(_filled)
    return apiserver


@pytest.fixture
def faults(apiserver):
    """The lab of the server, whose faults end with the test: faults.inject({"error": {"code": 503}})."""
    yield apiserver.lab
    apiserver.lab.calm()
