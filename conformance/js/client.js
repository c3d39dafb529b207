// Lists, watches and patches with @kubernetes/client-node, against the server of
// the kubeconfig that KUBECONFIG names. Ends with status 0 when all was as it
// should be.
import assert from 'node:assert/strict';
import * as k8s from '@kubernetes/client-node';

const config = new k8s.KubeConfig();
config.loadFromFile(process.env.KUBECONFIG);
const core = config.makeApiClient(k8s.CoreV1Api);
const namespace = 'default';
const name = 'from-javascript';

const made = await core.createNamespacedConfigMap({
  namespace,
  body: { metadata: { name, labels: { by: 'js' } }, data: { step: 'made' } },
});
assert.equal(made.data.step, 'made');

const list = await core.listNamespacedConfigMap({ namespace, labelSelector: 'by=js' });
assert.deepEqual(list.items.map((item) => item.metadata.name), [name]);

// A watch from the list on shows the patch and the deletion that follow.
const seen = [];
const controller = await new Promise((resolve, reject) => {
  let aborter;
  const watch = new k8s.Watch(config);
  const query = { labelSelector: 'by=js', resourceVersion: list.metadata.resourceVersion };
  const onEvent = (type, object) => {
    seen.push(`${type} ${object.data.step}`);
    if (type === 'DELETED') resolve(aborter);
  };
  const onEnd = (err) => err && reject(err);
  watch.watch(`/api/v1/namespaces/${namespace}/configmaps`, query, onEvent, onEnd).then(async (a) => {
    aborter = a;
    const patched = await core.patchNamespacedConfigMap(
      { namespace, name, body: { data: { step: 'patched' } } },
      k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch),
    );
    assert.equal(patched.data.step, 'patched');
    await core.deleteNamespacedConfigMap({ namespace, name });
  }).catch(reject);
});
controller.abort();
assert.deepEqual(seen, ['MODIFIED patched', 'DELETED patched']);
console.log('listed, watched and patched');
