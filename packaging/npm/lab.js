'use strict';

const group = '/apis/lab.miniapiserver.io/v1alpha1';
const mergePatch = 'application/merge-patch+json';

// Lab has the calls of a server with --lab. Each writes or reads an object of its API group.
class Lab {
  #server;

  constructor(server) {
    this.#server = server;
    this.clock = new Clock(server);
  }

  // #create creates an object. Without a name, the server makes one.
  #create(plural, kind, name, spec) {
    const metadata = name ? { name } : { generateName: 'node-' };
    return this.#server.request('POST', `${group}/${plural}`, { apiVersion: 'lab.miniapiserver.io/v1alpha1', kind, metadata, spec });
  }

  async checkpoint(name) {
    return (await this.#create('checkpoints', 'Checkpoint', name, {})).metadata.name;
  }

  async rewind(checkpoint, options = {}) {
    return (await this.#create('rewinds', 'Rewind', undefined, { ...options, checkpoint })).status;
  }

  async inject(spec, name) {
    const path = `${group}/faults/${(await this.#create('faults', 'Fault', name, spec)).metadata.name}`;
    return {
      status: async () => (await this.#server.request('GET', path)).status,
      remove: async () => { await this.#server.request('DELETE', path); },
    };
  }

  async calm() {
    await this.#server.request('DELETE', `${group}/faults`);
  }
}

// Clock is the clock of a server.
class Clock {
  #server;

  constructor(server) {
    this.#server = server;
  }

  #read() {
    return this.#server.request('GET', `${group}/clocks/server`);
  }

  async #patch(spec) {
    return new Date((await this.#server.request('PATCH', `${group}/clocks/server`, { spec }, mergePatch)).status.now);
  }

  async now() {
    return new Date((await this.#read()).status.now);
  }

  async advance(milliseconds) {
    const { spec = {}, status } = await this.#read();
    if (spec.frozenAt) return this.#patch({ frozenAt: microTime(new Date(Date.parse(spec.frozenAt) + milliseconds)) });
    const ahead = Date.parse(status.now) - Date.parse(status.realTime);
    return this.#patch({ offset: `${ahead + milliseconds}ms` });
  }

  async freeze() {
    return this.#patch({ frozenAt: (await this.#read()).status.now });
  }

  reset() {
    return this.#patch({ offset: null, frozenAt: null });
  }
}

// microTime returns a time as Kubernetes writes it with six digits of a second.
function microTime(date) {
  return date.toISOString().replace('Z', '000Z');
}

module.exports = { Lab };
