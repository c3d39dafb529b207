import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import * as k8s from '@kubernetes/client-node';
import { startServer } from 'miniapiserver';

import { Copier } from './controller.mjs';

let server, core, copier;

before(async () => {
  server = await startServer();
  const config = new k8s.KubeConfig();
  config.loadFromFile(server.kubeconfig);
  core = config.makeApiClient(k8s.CoreV1Api);
  await core.createNamespace({ body: { metadata: { name: 'mirror' } } });
  await server.lab.checkpoint('filled');
  copier = new Copier(config);
  await copier.start();
});
beforeEach(() => server.lab.rewind('filled'));
afterEach(() => server.lab.calm());
after(async () => {
  await copier.stop();
  await server.stop();
});

// write creates a ConfigMap for the controller to copy.
function write(data) {
  const metadata = { name: 'settings', annotations: { 'copy-to': 'mirror' } };
  return core.createNamespacedConfigMap({ namespace: 'default', body: { metadata, data } });
}

// copied returns the data of the copy when it is there.
async function copied() {
  for (;;) {
    try {
      return (await core.readNamespacedConfigMap({ namespace: 'mirror', name: 'settings' })).data;
    } catch (err) {
      if (err.code !== 404) throw err;
      await delay(10);
    }
  }
}

test('copies', async () => {
  await write({ color: 'blue' });
  assert.deepEqual(await copied(), { color: 'blue' });
});

test('starts from the checkpoint in each test', async () => {
  await assert.rejects(core.readNamespacedConfigMap({ namespace: 'mirror', name: 'settings' }), { code: 404 });
  await write({ color: 'red' });
  assert.deepEqual(await copied(), { color: 'red' });
});

test('copies in spite of an outage', async () => {
  const fault = await server.lab.inject({
    match: { verbs: ['create'], resources: ['configmaps'], namespaces: ['mirror'] },
    when: { times: 3 },
    inject: { error: { code: 503 } },
  });
  await write({ color: 'green' });
  assert.deepEqual(await copied(), { color: 'green' });
  assert.equal((await fault.status()).injected, 3);
});

test('a dry run of a rewind changes nothing', async () => {
  await write({ color: 'white' });
  await copied();
  const { objects } = await server.lab.rewind('filled', { dryRun: true, namespaces: ['mirror'] });
  const names = objects.filter(({ action }) => action === 'Removed').map(({ object }) => object);
  assert.ok(names.includes('configmaps/mirror/settings') && !names.includes('configmaps/default/settings'), names.join());
  assert.deepEqual(await copied(), { color: 'white' });
});

test('tokens expire by the clock', async () => {
  const path = '/api/v1/namespaces/mirror/serviceaccounts';
  await server.request('POST', path, { metadata: { name: 'robot' } });
  const { status: { token } } = await server.request('POST', `${path}/robot/token`, { spec: { expirationSeconds: 3600 } });
  const authenticated = async () => {
    const review = await server.request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token } });
    return review.status.authenticated ?? false;
  };
  assert.equal(await authenticated(), true);
  await server.lab.clock.advance(2 * 3600 * 1000);
  assert.equal(await authenticated(), false);
  await server.lab.clock.reset();
});
