"""A controller that copies each ConfigMap with the annotation copy-to into the namespace that it names."""

import threading

from kubernetes import client, watch


class Copier(threading.Thread):
    def __init__(self, api_client):
        super().__init__(daemon=True)
        self._core = client.CoreV1Api(api_client)
        self._watch = watch.Watch()
        self._stopping = False

    def run(self):
        while not self._stopping:
            for event in self._watch.stream(self._core.list_config_map_for_all_namespaces, timeout_seconds=1):
                if event["type"] != "DELETED":
                    self._reconcile(event["object"])

    def stop(self):
        self._stopping = True
        self._watch.stop()
        self.join()

    def _reconcile(self, source):
        """Write the copy of a ConfigMap until the server takes it."""
        namespace = (source.metadata.annotations or {}).get("copy-to")
        if not namespace:
            return
        copy = client.V1ConfigMap(metadata=client.V1ObjectMeta(name=source.metadata.name), data=source.data)
        while True:
            try:
                self._core.create_namespaced_config_map(namespace, copy)
                return
            except client.ApiException as error:
                if error.status == 409:
                    self._core.replace_namespaced_config_map(copy.metadata.name, namespace, copy)
                    return
                if error.status != 503:
                    raise
