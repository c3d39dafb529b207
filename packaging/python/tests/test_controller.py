import socket
import subprocess
import sys
import time
from datetime import timedelta

import pytest
from kubernetes import client

import miniapiserver


def write(core, data):
    """Create a ConfigMap for the controller to copy."""
    metadata = client.V1ObjectMeta(name="settings", annotations={"copy-to": "mirror"})
    core.create_namespaced_config_map("default", client.V1ConfigMap(metadata=metadata, data=data))


def copied(core):
    """Return the data of the copy when it is there."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return core.read_namespaced_config_map("settings", "mirror").data
        except client.ApiException as error:
            if error.status != 404 or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


@pytest.mark.parametrize("color", ["blue", "red"])
def test_copies(core, color):
    with pytest.raises(client.ApiException, match="404"):
        core.read_namespaced_config_map("settings", "mirror")
    write(core, {"color": color})
    assert copied(core) == {"color": color}


def test_copies_in_spite_of_an_outage(core, faults):
    fault = faults.inject(
        {"error": {"code": 503}},
        match={"verbs": ["create"], "resources": ["configmaps"], "namespaces": ["mirror"]},
        when={"times": 3},
    )
    write(core, {"color": "green"})
    assert copied(core) == {"color": "green"}
    assert fault.injected == 3


def test_faults_end_with_their_test(apiserver):
    assert apiserver.request("GET", "/apis/lab.miniapiserver.io/v1alpha1/faults")["items"] == []


def test_tokens_expire_by_the_clock(rewound_apiserver):
    server = rewound_apiserver
    path = "/api/v1/namespaces/mirror/serviceaccounts"
    server.request("POST", path, {"metadata": {"name": "robot"}})
    token = server.request("POST", f"{path}/robot/token", {"spec": {"expirationSeconds": 3600}})["status"]["token"]

    def authenticated():
        review = server.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": token}})
        return review["status"].get("authenticated", False)

    assert authenticated()
    server.lab.clock.freeze()
    server.lab.clock.advance(timedelta(hours=2))
    assert not authenticated()
    server.lab.clock.reset()


def test_rewind_names_what_it_does(rewound_apiserver):
    rewound_apiserver.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "one"}})
    name = rewound_apiserver.lab.checkpoint("with-one")
    rewound_apiserver.request("DELETE", "/api/v1/namespaces/default/configmaps/one")
    status = rewound_apiserver.lab.rewind(name, dryRun=True)
    assert {"object": "configmaps/default/one", "action": "Restored"} in status["objects"]
    assert status["restored"] >= 1


def test_errors_name_the_cause(apiserver, capfd):
    with pytest.raises(miniapiserver.RequestError, match='404 namespaces "none" not found'):
        apiserver.request("GET", "/api/v1/namespaces/none")
    with pytest.raises(RuntimeError, match="ended with status 1 before it was ready"):
        miniapiserver.start(["--no-such-flag"])
    assert "unknown flag: --no-such-flag" in capfd.readouterr().err


def test_ends_with_its_process():
    """A process that is killed leaves no server behind."""
    code = "import miniapiserver; s = miniapiserver.start(); print(s.url, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        host, port = process.stdout.readline().strip().removeprefix("https://").split(":")
        process.kill()
    deadline = time.monotonic() + 30
    while listens(host, int(port)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def listens(host, port):
    with socket.socket() as s:
        return s.connect_ex((host, port)) == 0
