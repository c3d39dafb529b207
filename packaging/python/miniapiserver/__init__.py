"""A Kubernetes API server for the tests of a Python project.

    with miniapiserver.start() as server:
        kubernetes.config.load_kube_config(server.kubeconfig)

The server is empty at the start. It ends with the block, or with this process, and leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Iterable

from ._lab import Clock, Fault, Lab

__all__ = ["Clock", "Fault", "Lab", "RequestError", "Server", "binary_path", "start"]


def binary_path() -> str:
    """Return the path of the server: the one that MINIAPISERVER_BINARY names, or else the one in this package."""
    own = Path(__file__).with_name("bin") / ("miniapiserver.exe" if sys.platform == "win32" else "miniapiserver")
    return os.environ.get("MINIAPISERVER_BINARY") or str(own)


class RequestError(Exception):
    """An answer of 400 or more. code is the status."""

    def __init__(self, code: int, message: str):
        super().__init__(f"{code} {message}")
        self.code = code


class Server:
    """A running server."""

    url: str
    """Address, such as https://127.0.0.1:38417."""
    insecure_url: str | None
    """Address of the port for plain HTTP, if the flags have --insecure-port=-1."""
    ca: str
    """PEM of the certificate authority of the url."""
    token: str
    """Bearer token of the administrator."""
    kubeconfig: str
    """Path of a kubeconfig with the administrator's access."""
    lab_page: str | None
    """Address of the page of the lab, for a browser."""
    pid: int
    lab: Lab

    def __init__(self, process: subprocess.Popen[str], ready: dict[str, Any]):
        self._process = process
        self.url, self.ca, self.token = ready["url"], ready["ca"], ready["token"]
        self.kubeconfig, self.pid = ready["kubeconfig"], ready["pid"]
        self.insecure_url, self.lab_page = ready.get("insecureURL"), ready.get("labPage")
        self.lab = Lab(self.request)
        self._tls = ssl.create_default_context(cadata=self.ca)

    def request(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """Send a request as the administrator and return the JSON of the response."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", "Content-Type": content_type}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        # No proxy of the environment leads to a loopback address.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self._tls))
        try:
            with opener.open(request) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode()
            try:
                text = json.loads(text)["message"]
            except (ValueError, KeyError, TypeError):
                pass  # a text that is no Status is the message
            raise RequestError(error.code, text) from None

    def stop(self) -> None:
        """Stop the server and wait until it has ended."""
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(flags: Iterable[str] = (), *, lab: bool = True, binary: str | None = None) -> Server:
    """Start a server on a free port of 127.0.0.1 and wait until it is ready, which takes a fraction of a second.

    flags are further flags of the server, such as --emulated-version=1.36. Without lab, the server has no checkpoints,
    faults and clock.
    """
    command = [binary or binary_path(), "--ephemeral", "--secure-port=0", "--output=json", "--stdin-lifetime"]
    command += [*(["--lab"] if lab else []), *flags]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    if not line:
        process.stdin.close()
        process.stdout.close()
        raise RuntimeError(f"{command[0]} ended with status {process.wait()} before it was ready")
    return Server(process, json.loads(line))
