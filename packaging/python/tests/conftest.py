import pytest
from kubernetes import client, config

from controller import Copier


@pytest.fixture(scope="session")
def fill_apiserver(apiserver):
    apiserver.request("POST", "/api/v1/namespaces", {"metadata": {"name": "mirror"}})


@pytest.fixture(scope="session")
def api_client(apiserver):
    return config.new_client_from_config(apiserver.kubeconfig)


@pytest.fixture
def core(rewound_apiserver, api_client):
    """A client of the server of a test, while the controller runs."""
    copier = Copier(api_client)
    copier.start()
    yield client.CoreV1Api(api_client)
    copier.stop()
