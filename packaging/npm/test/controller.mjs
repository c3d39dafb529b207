// A controller that copies each ConfigMap with the annotation copy-to into the namespace that it names.
import * as k8s from '@kubernetes/client-node';

export class Copier {
  #core;
  #informer;

  constructor(config) {
    this.#core = config.makeApiClient(k8s.CoreV1Api);
    const list = () => this.#core.listConfigMapForAllNamespaces();
    this.#informer = k8s.makeInformer(config, '/api/v1/configmaps', list);
    for (const event of ['add', 'update']) this.#informer.on(event, (source) => this.#reconcile(source));
  }

  start() {
    return this.#informer.start();
  }

  stop() {
    return this.#informer.stop();
  }

  // #reconcile writes the copy of a ConfigMap until the server takes it.
  async #reconcile(source) {
    const namespace = source.metadata.annotations?.['copy-to'];
    if (!namespace) return;
    const body = { metadata: { name: source.metadata.name }, data: source.data };
    for (;;) {
      try {
        return await this.#core.createNamespacedConfigMap({ namespace, body });
      } catch (err) {
        if (err.code === 409) return this.#core.replaceNamespacedConfigMap({ namespace, name: body.metadata.name, body });
        if (err.code !== 503) throw err;
      }
    }
  }
}
