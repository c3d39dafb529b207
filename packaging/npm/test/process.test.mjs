// What happens to servers when the processes that started them end.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startServer } from 'miniapiserver';

// start starts Node.js and returns the process with the first line that it prints.
async function start(...args) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return { child, url: new URL(JSON.parse(line).url) };
}

// closed returns when nobody listens at a URL.
async function closed(url) {
  for (;;) {
    const socket = createConnection(url.port, url.hostname);
    const listens = await once(socket, 'connect').then(() => true, () => false);
    socket.destroy();
    if (!listens) return;
    await delay(10);
  }
}

// starter returns the arguments of a process that starts a server and then runs more code.
function starter(more) {
  return ['--input-type=module', '--eval', `
    import { startServer } from 'miniapiserver';
    const { url } = await startServer();
    console.log(JSON.stringify({ url }));
    ${more}`];
}

test('a server ends with a process that is killed', { timeout: 30_000 }, async () => {
  const { child, url } = await start(...starter('setInterval(() => {}, 1000);'));
  child.kill('SIGKILL');
  await closed(url);
});

test('a process that forgets its server ends all the same', { timeout: 30_000 }, async () => {
  const { child, url } = await start(...starter(''));
  const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode];
  assert.equal(code, 0);
  await closed(url);
});

test('the command ends when it is told to, with the status of the server', { timeout: 30_000 }, async () => {
  const { child, url } = await start('node_modules/miniapiserver/bin.js', '--ephemeral', '--secure-port=0', '--output=json');
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  await closed(url);

  const wrong = spawn(process.execPath, ['node_modules/miniapiserver/bin.js', '--no-such-flag'], { stdio: 'ignore' });
  assert.deepEqual(await once(wrong, 'exit'), [1, null]);
});

test('a server that cannot start is an error', async () => {
  await assert.rejects(startServer({ flags: ['--no-such-flag'], stderr: 'ignore' }), /ended with status 1 before it was ready/);
  await assert.rejects(startServer({ binary: '/none/miniapiserver' }), { code: 'ENOENT' });
});
