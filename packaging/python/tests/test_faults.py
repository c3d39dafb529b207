"""What the client of Kubernetes sees of each fault: what a real server in that state has for it."""

import contextlib
import json
import time

import pytest
import urllib3
from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

NAMESPACE = "default"
REASONS = {
    404: "NotFound", 409: "Conflict", 410: "Expired", 429: "TooManyRequests",
    500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout",
}


def new(name):
    return {"metadata": {"name": name}}


@pytest.fixture
def usual(rewound_apiserver):
    """A client for which urllib3 tries some requests again, and a ConfigMap."""
    core = client.CoreV1Api(config.new_client_from_config(rewound_apiserver.kubeconfig))
    core.create_namespaced_config_map(NAMESPACE, new("a"))
    return core


@pytest.fixture
def once(rewound_apiserver):
    """A client that sends each request once."""
    configuration = client.Configuration()
    config.load_kube_config(rewound_apiserver.kubeconfig, client_configuration=configuration)
    configuration.retries = False
    return client.CoreV1Api(client.ApiClient(configuration))


@pytest.fixture
def injected(faults):
    """Has a fault hit requests for ConfigMaps during a block, and checks that it did."""

    @contextlib.contextmanager
    def inject(what, times=0, verbs=()):
        fault = faults.inject(what, match={"resources": ["configmaps"], "verbs": list(verbs)}, when={"times": times})
        yield
        hits = fault.injected
        fault.remove()
        assert hits > 0 and (not times or hits == times)

    return inject


@pytest.mark.parametrize("code, reason", REASONS.items())
def test_errors(usual, once, injected, code, reason):
    with injected({"error": {"code": code, "retryAfterSeconds": 2}}):
        with pytest.raises(ApiException) as caught:
            once.read_namespaced_config_map("a", NAMESPACE)
    status = json.loads(caught.value.body)
    assert (caught.value.status, status["code"], status["reason"]) == (code, code, reason)
    assert (status["details"]["retryAfterSeconds"], caught.value.headers["Retry-After"]) == (2, "2")


@pytest.mark.parametrize("code", [429, 503])
def test_tries_again_after_the_time_of_the_server(usual, injected, code):
    began = time.monotonic()
    with injected({"error": {"code": code, "retryAfterSeconds": 1}}, times=1):
        usual.read_namespaced_config_map("a", NAMESPACE)
    assert time.monotonic() - began >= 1


@pytest.mark.parametrize("lose, happens", [("Request", False), ("Response", True), ("Connection", False)])
def test_lost_connections(usual, once, injected, lose, happens):
    with injected({"lose": lose}, times=1):
        with pytest.raises(urllib3.exceptions.ProtocolError):
            once.create_namespaced_config_map(NAMESPACE, new("lost"))
    names = [one.metadata.name for one in usual.list_namespaced_config_map(NAMESPACE).items]
    assert ("lost" in names) == happens


def test_reads_are_tried_again(usual, injected):
    with injected({"lose": "Request"}, times=2, verbs=["get"]):
        usual.read_namespaced_config_map("a", NAMESPACE)


def test_old_reads(usual, injected):
    with injected({"stale": {"age": "5m"}}):
        usual.create_namespaced_config_map(NAMESPACE, new("new"))

        def names(**options):
            return [one.metadata.name for one in usual.list_namespaced_config_map(NAMESPACE, **options).items]

        assert "new" not in names(resource_version="0")
        assert "new" in names()


def test_late_roles(usual, faults):
    rbac = client.RbacAuthorizationV1Api(usual.api_client)
    reviews = client.AuthorizationV1Api(usual.api_client)
    group = "rbac.authorization.k8s.io"

    def may(user):
        what = {"namespace": NAMESPACE, "verb": "get", "resource": "pods"}
        return reviews.create_subject_access_review({"spec": {"user": user, "resourceAttributes": what}}).status.allowed

    def eventually(holds):
        end = time.monotonic() + 30
        while not holds():
            assert time.monotonic() < end
            time.sleep(0.01)

    users = []

    def bound_without_effect():
        users.append(f"late-{len(users)}")
        rbac.create_namespaced_role_binding(NAMESPACE, {
            **new(users[-1]), "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "view"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": users[-1]}],
        })
        time.sleep(0.2)
        return not may(users[-1])

    fault = faults.inject({"lag": "5m"}, match={"resources": [f"rolebindings.{group}"]})
    eventually(bound_without_effect)
    fault.remove()
    eventually(lambda: may(users[-1]))


def test_conflict(usual, injected):
    with injected({"conflict": {}}, times=1):
        one = usual.read_namespaced_config_map("a", NAMESPACE)
        one.data = {"x": "y"}
        with pytest.raises(ApiException) as caught:
            usual.replace_namespaced_config_map("a", NAMESPACE, one)
    assert json.loads(caught.value.body)["reason"] == "Conflict"


def test_delay(usual, injected):
    began = time.monotonic()
    with injected({"delay": {"min": "300ms"}}):
        usual.read_namespaced_config_map("a", NAMESPACE)
    assert time.monotonic() - began >= 0.3


def test_compaction(usual, injected):
    first = usual.list_namespaced_config_map(NAMESPACE, limit=1)
    usual.create_namespaced_config_map(NAMESPACE, new("later"))
    with injected({"compact": {}}, times=1):
        with pytest.raises(ApiException) as caught:
            usual.list_namespaced_config_map(NAMESPACE, limit=1, _continue=first.metadata._continue)
    assert (caught.value.status, json.loads(caught.value.body)["reason"]) == (410, "Expired")


@pytest.fixture
def watched(usual):
    """Returns the names that a watch sees, which must be those that were created after its revision."""
    version = usual.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    names = [f"watched-{n}" for n in range(4)]
    for name in names:
        usual.create_namespaced_config_map(NAMESPACE, new(name))

    def stream():
        # The client begins another watch where one ends.
        watcher, seen = watch.Watch(), []
        for event in watcher.stream(usual.list_namespaced_config_map, NAMESPACE, resource_version=version):
            seen.append(event["object"].metadata.name)
            if len(seen) == len(names):
                watcher.stop()
        return seen == names

    return stream


def test_watches_end(watched, injected):
    with injected({"watch": {"close": {"afterEvents": 1}}}, times=3):
        assert watched()


def test_watches_expire(watched, injected):
    # The client tries once more by itself, and then has the program list again.
    with injected({"watch": {"expire": {}}}, times=2):
        with pytest.raises(ApiException) as caught:
            watched()
    assert caught.value.status == 410


@pytest.mark.parametrize("what", ["freeze", "delay"])
def test_watches_are_late(watched, injected, what):
    began = time.monotonic()
    with injected({"watch": {what: "300ms"}}):
        assert watched()
    assert time.monotonic() - began >= 0.3
