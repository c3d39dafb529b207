"""The calls of a server with --lab. Each writes or reads an object of its API group."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Callable

GROUP = "/apis/lab.miniapiserver.io/v1alpha1"
MERGE_PATCH = "application/merge-patch+json"


class Lab:
    """What a server with the lab can do beyond the Kubernetes API. docs/lab.md of the project describes it."""

    clock: Clock

    def __init__(self, request: Callable[..., Any]):
        self._request = request
        self.clock = Clock(request)

    def _create(self, plural: str, kind: str, name: str | None, spec: dict[str, Any]) -> dict[str, Any]:
        metadata = {"name": name} if name else {"generateName": "python-"}
        obj = {"apiVersion": "lab.miniapiserver.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}
        return self._request("POST", f"{GROUP}/{plural}", obj)

    def checkpoint(self, name: str | None = None) -> str:
        """Keep the present state of all objects under a name, and return the name."""
        return self._create("checkpoints", "Checkpoint", name, {})["metadata"]["name"]

    def rewind(self, checkpoint: str, **spec: Any) -> dict[str, Any]:
        """Go back to a checkpoint and return the status of the Rewind. Watches and informers see ordinary events.

        spec has further fields of the Rewind: namespaces, resources, include and dryRun.
        """
        return self._create("rewinds", "Rewind", None, {**spec, "checkpoint": checkpoint})["status"]

    def inject(
        self,
        inject: dict[str, Any],
        *,
        match: dict[str, list[str]] | None = None,
        when: dict[str, Any] | None = None,
        name: str | None = None,
    ) -> Fault:
        """Have requests misbehave until the fault is removed.

        The arguments are the fields of a Fault, such as inject={"error": {"code": 503}} and match={"verbs": ["list"]}.
        """
        fault = self._create("faults", "Fault", name, {"match": match or {}, "when": when or {}, "inject": inject})
        return Fault(self._request, fault["metadata"]["name"])

    def calm(self) -> None:
        """Remove all faults."""
        self._request("DELETE", f"{GROUP}/faults")


class Fault:
    """A fault that acts until it is removed."""

    def __init__(self, request: Callable[..., Any], name: str):
        self._request = request
        self.name = name

    @property
    def injected(self) -> int:
        """How many requests it has hit so far."""
        return self._request("GET", f"{GROUP}/faults/{self.name}")["status"]["injected"]

    def remove(self) -> None:
        self._request("DELETE", f"{GROUP}/faults/{self.name}")


class Clock:
    """The clock of the server, by which it stamps objects and decides what is due. Its methods return its time."""

    def __init__(self, request: Callable[..., Any]):
        self._request = request

    def _read(self) -> dict[str, Any]:
        return self._request("GET", f"{GROUP}/clocks/server")

    def _patch(self, spec: dict[str, Any]) -> datetime:
        return _time(self._request("PATCH", f"{GROUP}/clocks/server", {"spec": spec}, MERGE_PATCH)["status"]["now"])

    def now(self) -> datetime:
        return _time(self._read()["status"]["now"])

    def advance(self, by: timedelta) -> datetime:
        """Move the clock forward. What falls due has happened when this returns."""
        clock = self._read()
        frozen, status = clock.get("spec", {}).get("frozenAt"), clock["status"]
        if frozen:
            return self._patch({"frozenAt": (_time(frozen) + by).strftime("%Y-%m-%dT%H:%M:%S.%fZ")})
        ahead = _time(status["now"]) - _time(status["realTime"]) + by
        return self._patch({"offset": f"{ahead // timedelta(microseconds=1)}us"})

    def freeze(self) -> datetime:
        return self._patch({"frozenAt": self._read()["status"]["now"]})

    def reset(self) -> datetime:
        """Have the clock show the real time again."""
        return self._patch({"offset": None, "frozenAt": None})


def _time(text: str) -> datetime:
    """Return a time of the server, which is in UTC."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
