// What @kubernetes/client-node does with a server, and what the lab of the server has of that.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import * as k8s from '@kubernetes/client-node';
import { startServer } from 'miniapiserver';

const namespace = 'default';
const name = 'from-javascript';
const lab = { group: 'lab.miniapiserver.io', version: 'v1alpha1', plural: 'requests' };
let server, config, core, custom;

before(async () => {
  server = await startServer();
  config = new k8s.KubeConfig();
  config.loadFromFile(server.kubeconfig);
  core = config.makeApiClient(k8s.CoreV1Api);
  custom = config.makeApiClient(k8s.CustomObjectsApi);
});
after(() => server.stop());

// watchUntil watches a path, calls begin when the watch has begun, and returns the events up to the first that isLast.
function watchUntil(path, query, begin, isLast) {
  return new Promise((resolve, reject) => {
    const events = [];
    let aborter;
    const onEvent = (type, object) => {
      events.push({ type, object });
      if (!isLast(events.at(-1))) return;
      aborter.abort();
      resolve(events);
    };
    const onEnd = (err) => err && err.name !== 'AbortError' && reject(err);
    new k8s.Watch(config).watch(path, query, onEvent, onEnd)
      .then((a) => { aborter = a; return begin(); })
      .catch(reject);
  });
}

test('creates, lists, watches, patches and deletes', async () => {
  const body = { metadata: { name, labels: { by: 'js' } }, data: { step: 'made' } };
  assert.equal((await core.createNamespacedConfigMap({ namespace, body })).data.step, 'made');
  const list = await core.listNamespacedConfigMap({ namespace, labelSelector: 'by=js' });
  assert.deepEqual(list.items.map((item) => item.metadata.name), [name]);

  const query = { labelSelector: 'by=js', resourceVersion: list.metadata.resourceVersion };
  const events = await watchUntil(`/api/v1/namespaces/${namespace}/configmaps`, query, async () => {
    const merge = k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch);
    const patched = await core.patchNamespacedConfigMap({ namespace, name, body: { data: { step: 'patched' } } }, merge);
    assert.equal(patched.data.step, 'patched');
    await core.deleteNamespacedConfigMap({ namespace, name });
  }, ({ type }) => type === 'DELETED');
  assert.deepEqual(events.map(({ type, object }) => `${type} ${object.data.step}`), ['MODIFIED patched', 'DELETED patched']);
});

test('the lab has the requests, and shows new ones in a watch', async () => {
  const fieldSelector = `resource=configmaps,objectName=${name},user=kubernetes-admin`;
  let requests = await custom.listClusterCustomObject({ ...lab, fieldSelector });
  while (requests.items.length < 3) { // a request is complete after its response
    await delay(20);
    requests = await custom.listClusterCustomObject({ ...lab, fieldSelector });
  }
  assert.deepEqual(requests.items.map((item) => item.spec.verb), ['create', 'patch', 'delete']);
  const patch = await custom.getClusterCustomObject({ ...lab, name: requests.items[1].metadata.name });
  assert.equal(patch.status.phase, 'Complete');
  assert.ok(patch.status.changes.some((c) => c.path === 'data.step' && c.after === '"patched"' && c.by === 'the patch'));

  const query = { fieldSelector: 'code=404,objectName=missing', resourceVersion: requests.metadata.resourceVersion };
  const [refused] = await watchUntil(`/apis/${lab.group}/${lab.version}/${lab.plural}`, query,
    () => assert.rejects(core.readNamespacedConfigMap({ namespace, name: 'missing' }), { code: 404 }), () => true);
  assert.equal(refused.object.status.cause.by, 'storage');
});
