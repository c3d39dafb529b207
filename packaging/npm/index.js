'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const https = require('node:https');
const { createInterface } = require('node:readline');

const { binaryPath } = require('./binary.js');
const { Lab } = require('./lab.js');

// Server is a running server. index.d.ts describes it.
class Server {
  #child;
  #ended;

  constructor(child, ended, ready) {
    this.#child = child;
    this.#ended = ended;
    Object.assign(this, ready);
    this.lab = new Lab(this);
  }

  async request(method, path, body, contentType = 'application/json') {
    const headers = { Authorization: `Bearer ${this.token}`, Accept: 'application/json', 'User-Agent': 'miniapiserver-node' };
    if (body !== undefined) headers['Content-Type'] = contentType;
    // Without an agent there is no connection that outlives the request.
    const request = https.request(this.url + path, { method, ca: this.ca, headers, agent: false });
    request.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = await once(request, 'response');
    response.setEncoding('utf8');
    let text = '';
    for await (const chunk of response) text += chunk;
    if (response.statusCode >= 400) throw requestError(method, path, response.statusCode, text);
    return text && JSON.parse(text);
  }

  stop() {
    this.#child.ref();
    this.#child.stdin.end();
    return this.#ended;
  }
}

// requestError returns the error for a response, with the message of its Status if it is one.
function requestError(method, path, code, text) {
  let message = text;
  try {
    message = JSON.parse(text).message ?? text;
  } catch {
    // A text that is no JSON is the message.
  }
  return Object.assign(new Error(`${method} ${path}: ${code} ${message}`), { code });
}

// startServer starts a server and waits until it is ready.
async function startServer({ binary = binaryPath(), lab = true, flags = [], stderr = 'inherit' } = {}) {
  const args = ['--ephemeral', '--secure-port=0', '--output=json', '--stdin-lifetime', ...(lab ? ['--lab'] : []), ...flags];
  const child = spawn(binary, args, { stdio: ['pipe', 'pipe', stderr] });
  const exited = once(child, 'exit'); // rejects if the program cannot be started
  const lines = createInterface({ input: child.stdout });
  const ready = await Promise.race([
    once(lines, 'line').then(([line]) => line),
    exited.then(([code, signal]) => {
      throw new Error(`${binary} ended with ${signal ?? `status ${code}`} before it was ready`);
    }),
  ]);
  // A test process that ends without stop() shall not wait for the server, which ends when its standard input does.
  for (const handle of [child, child.stdin, child.stdout]) handle.unref();
  return new Server(child, exited.then(() => {}), JSON.parse(ready));
}

module.exports = { startServer, binaryPath };
