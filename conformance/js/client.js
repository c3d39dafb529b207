// Lists, watches and patches with @kubernetes/client-node, against the server of
// the kubeconfig that KUBECONFIG names, and reads what its lab has of that. Ends with status 0 when all was as it
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
// The lab of the server has those requests, and shows new ones in a watch.
const custom = config.makeApiClient(k8s.CustomObjectsApi);
const lab = { group: 'lab.miniapiserver.io', version: 'v1alpha1', plural: 'requests' };
const fieldSelector = `resource=configmaps,objectName=${name},user=kubernetes-admin`;
const verbs = async () => (await custom.listClusterCustomObject({ ...lab, fieldSelector })).items.map((item) => item.spec.verb);
const kept = async () => (await verbs()).length < 3 ? new Promise((done) => setTimeout(done, 20)).then(kept) : verbs();
assert.deepEqual(await kept(), ['create', 'patch', 'delete']);
const requests = await custom.listClusterCustomObject({ ...lab, fieldSelector });
const patch = await custom.getClusterCustomObject({ ...lab, name: requests.items[1].metadata.name });
assert.equal(patch.status.phase, 'Complete');
assert.ok(patch.status.changes.some((c) => c.path === 'data.step' && c.after === '"patched"' && c.by === 'the patch'));
const refused = await new Promise((resolve, reject) => {
  const watch = new k8s.Watch(config);
  const query = { fieldSelector: 'code=404,objectName=missing', resourceVersion: requests.metadata.resourceVersion };
  let aborter;
  const onEvent = (type, object) => { aborter?.abort(); resolve(object); };
  watch.watch(`/apis/${lab.group}/${lab.version}/${lab.plural}`, query, onEvent, (err) => err && err.name !== 'AbortError' && reject(err))
    .then((a) => {
      aborter = a;
      return core.readNamespacedConfigMap({ namespace, name: 'missing' }).catch((err) => assert.equal(err.code, 404));
    }).catch(reject);
});
assert.equal(refused.status.cause.by, 'storage');
console.log('listed, watched and patched');
