// What @kubernetes/client-node sees of each fault of the lab: the errors of requests, the ends of watches, and an informer that has to
// recover. Each is what a real server in that state has for it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import * as k8s from '@kubernetes/client-node';
import { startServer } from 'miniapiserver';

const namespace = 'default';
const path = `/api/v1/namespaces/${namespace}/configmaps`;
let server, config, core;

before(async () => {
  server = await startServer();
  config = new k8s.KubeConfig();
  config.loadFromFile(server.kubeconfig);
  core = config.makeApiClient(k8s.CoreV1Api);
  await create('a');
});
after(() => server.stop());

const until = async (what, holds) => {
  for (const end = Date.now() + 30_000; !(await holds());) {
    assert.ok(Date.now() < end, `it did not happen that ${what}`);
    await delay(10);
  }
};
const create = (name) => core.createNamespacedConfigMap({ namespace, body: { metadata: { name } } });
const read = (name) => core.readNamespacedConfigMap({ namespace, name });
const failure = (promise) => promise.then(() => assert.fail('the request succeeded'), (err) => err);

// withFault calls f while a fault hits requests for ConfigMaps, and checks that it did.
async function withFault(spec, f) {
  const fault = await server.lab.inject({ ...spec, match: { ...spec.match, resources: ['configmaps'] } });
  const hits = async () => (await fault.status()).injected;
  try {
    await f(hits);
    assert.ok((await hits()) > 0, `${JSON.stringify(spec)} hit nothing`);
  } finally {
    await fault.remove();
  }
}

const reasons = {
  404: 'NotFound', 409: 'Conflict', 410: 'Expired', 429: 'TooManyRequests', 500: 'InternalError', 503: 'ServiceUnavailable', 504: 'Timeout',
};
test('an error has the Status and the headers of its code', async () => {
  for (const [code, reason] of Object.entries(reasons)) {
    await withFault({ inject: { error: { code: Number(code), retryAfterSeconds: 2 } } }, async () => {
      const err = await failure(read('a'));
      const status = JSON.parse(err.body);
      assert.deepEqual([err.code, status.code, status.reason, status.details.retryAfterSeconds], [Number(code), Number(code), reason, 2]);
      assert.equal(err.headers['retry-after'], '2');
    });
  }
});

test('connections break', async () => {
  // A lost request, alone or with its connection, had no effect; a lost answer had.
  for (const [lose, happens] of Object.entries({ Request: false, Response: true, Connection: false })) {
    const name = `lost-${lose.toLowerCase()}`;
    await withFault({ inject: { lose }, when: { times: 1 } }, async () => {
      const err = await failure(create(name));
      assert.equal(err.code, 'ECONNRESET', `${err}`);
    });
    assert.equal(await create(name).then(() => false, (err) => err.code === 409), happens);
  }
});

test('another writer comes between a read and a write', async () => {
  await withFault({ inject: { conflict: {} }, when: { times: 1 } }, async () => {
    const body = await read('a');
    body.data = { x: 'y' };
    const err = await failure(core.replaceNamespacedConfigMap({ namespace, name: 'a', body }));
    assert.equal(JSON.parse(err.body).reason, 'Conflict');
  });
});

test('a read that may be old is old', async () => {
  await withFault({ inject: { stale: { age: '5m' } } }, async () => {
    await create('new');
    const names = async (options) => (await core.listNamespacedConfigMap({ namespace, ...options })).items.map((one) => one.metadata.name);
    assert.ok(!(await names({ resourceVersion: '0' })).includes('new'));
    assert.ok((await names({})).includes('new'));
  });
});

test('roles take effect later', async () => {
  const rbac = config.makeApiClient(k8s.RbacAuthorizationV1Api);
  const reviews = config.makeApiClient(k8s.AuthorizationV1Api);
  const apiGroup = 'rbac.authorization.k8s.io';
  const resourceAttributes = { namespace, verb: 'get', resource: 'pods' };
  const may = async (user) => (await reviews.createSubjectAccessReview({ body: { spec: { user, resourceAttributes } } })).status.allowed;
  const fault = await server.lab.inject({ match: { resources: [`rolebindings.${apiGroup}`] }, inject: { lag: '5m' } });
  let users = 0;
  const late = () => `late-${users}`;
  await until('a binding has no effect', async () => {
    users++;
    await rbac.createNamespacedRoleBinding({ namespace, body: { metadata: { name: late() },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'view' }, subjects: [{ apiGroup, kind: 'User', name: late() }] } });
    await delay(200);
    return !(await may(late()));
  });
  await fault.remove();
  await until('the binding has an effect', () => may(late()));
});

test('requests wait', async () => {
  await withFault({ inject: { delay: { min: '300ms' } } }, async () => {
    const began = Date.now();
    await read('a');
    assert.ok(Date.now() - began >= 300);
  });
});

test('a continue token from before a compaction is too old', async () => {
  const first = await core.listNamespacedConfigMap({ namespace, limit: 1 });
  await create('later');
  await withFault({ inject: { compact: {} }, when: { times: 1 } }, async () => {
    const err = await failure(core.listNamespacedConfigMap({ namespace, limit: 1, _continue: first.metadata._continue }));
    assert.deepEqual([err.code, JSON.parse(err.body).reason], [410, 'Expired']);
  });
});

// The events of a watch until it ends, or until there are some.
const events = (count) => new Promise((resolve, reject) => {
  const seen = [];
  let aborter;
  const onEvent = (type, object) => {
    seen.push([type, object]);
    if (seen.length === count) {
      aborter.abort();
      resolve(seen);
    }
  };
  const onEnd = (err) => (err && err.name !== 'AbortError' ? reject(err) : resolve(seen));
  new k8s.Watch(config).watch(path, {}, onEvent, onEnd).then((a) => { aborter = a; }, reject);
});
test('watches end, expire, stand still and lag', async () => {
  await withFault({ inject: { watch: { close: { afterEvents: 1 } } } }, async () => assert.equal((await events(100)).length, 1));
  await withFault({ inject: { watch: { expire: {} } } }, async () => {
    const [[type, status]] = await events(100);
    assert.deepEqual([type, status.code, status.reason], ['ERROR', 410, 'Expired']);
  });
  for (const watch of [{ freeze: '300ms' }, { delay: '300ms' }]) {
    await withFault({ inject: { watch } }, async () => {
      const began = Date.now();
      assert.equal((await events(1))[0][0], 'ADDED');
      assert.ok(Date.now() - began >= 300);
    });
  }
});

// An informer is started again after an error, as the documentation of the client has it. In the end it has what a list has.
const closes = { close: { afterEvents: 2 } };
for (const spec of [
  { match: { verbs: ['watch'] }, when: { times: 3 }, inject: { watch: closes } },
  { match: { verbs: ['watch'] }, when: { times: 2 }, inject: { watch: { expire: {} } } },
  { match: { verbs: ['watch'] }, when: { times: 1 }, inject: { watch: { freeze: '500ms' } } },
  { match: { verbs: ['list', 'watch'] }, when: { times: 3 }, inject: { lose: 'Request' } },
  { match: { verbs: ['list'] }, when: { times: 1 }, inject: { lose: 'Response' } },
  { match: { verbs: ['list', 'watch'] }, when: { times: 3 }, inject: { error: { code: 500 } } },
  { match: { verbs: ['list', 'watch'] }, when: { times: 3 }, inject: { error: { code: 410 } } },
  { match: { verbs: ['list', 'watch'] }, when: { times: 2 }, inject: { compact: {} } },
]) {
  test(`an informer recovers from ${JSON.stringify(spec.inject)} of ${spec.match.verbs}`, async () => {
    const versions = (items) => items.map((item) => `${item.metadata.name} ${item.metadata.resourceVersion}`).sort();
    const list = () => core.listNamespacedConfigMap({ namespace });
    const informer = k8s.makeInformer(config, path, list);
    let stopped = false;
    informer.on('error', () => setTimeout(() => stopped || informer.start(), 20));
    await withFault(spec, async (hits) => {
      informer.start();
      let n = 0;
      await until(`${JSON.stringify(spec)} hits all that it may`, async () => {
        await core.patchNamespacedConfigMap({ namespace, name: 'a', body: { data: { n: `${n++}` } } },
          k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch));
        return (await hits()) >= spec.when.times;
      });
    });
    await until(`an informer recovers from ${JSON.stringify(spec)}`, async () => {
      const [want, got] = [versions((await list()).items), versions(informer.list(namespace))];
      return JSON.stringify(want) === JSON.stringify(got);
    });
    stopped = true;
    await informer.stop();
  });
}
