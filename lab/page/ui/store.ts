// The requests that the page has: the newest ones, as rows of a table.

import { follow } from "./api";
import type { LabRequest } from "./types";

export const requestsPath = "/apis/lab.miniapiserver.io/v1alpha1/requests";

/** The User-Agent of the page's own requests (page.UserAgent). */
export const ownAgent = "miniapiserver-lab-page";

export const maxRows = 10_000;
const maxPending = 20_000;
/** Time for the events of a frame. The rest of 16 ms is for drawing. */
const budget = 8;
/** Shortest time between two drawings: a table that changes more often cannot be read. */
const interval = 80;

export interface Row {
  name: string;
  time: number;
  user: string;
  agent: string;
  verb: string;
  resource: string;
  namespace: string;
  object: string;
  uri: string;
  code: number;
  running: boolean;
  microseconds: number;
  why: string;
  /** What the filter searches. */
  text: string;
  /** The Request as JSON, or decoded. Text of ten thousand requests needs less memory than their objects. */
  source: string | LabRequest;
}

export const decode = (row: Row): LabRequest => (typeof row.source === "string" ? JSON.parse(row.source).object : row.source);

const withGroup = (resource: string, group?: string) => {
  if (!resource || !group) return resource;
  const [name, ...subresource] = resource.split("/");
  return [name + "." + group, ...subresource].join("/");
};

export function toRow(r: LabRequest, source: string | LabRequest): Row {
  const { spec, status } = r;
  const resource = withGroup(spec.resource ?? "", spec.group);
  const row: Row = {
    name: r.metadata.name,
    time: Date.parse(spec.time),
    user: spec.user ?? "",
    agent: spec.userAgent ?? "",
    verb: spec.verb,
    resource,
    namespace: spec.namespace ?? "",
    object: spec.objectName ?? "",
    uri: spec.uri,
    code: status.code ?? 0,
    running: status.phase !== "Complete",
    microseconds: status.microseconds ?? 0,
    why: status.why || (status.code && status.code >= 400 ? (status.message ?? "") : ""),
    text: "",
    source,
  };
  row.text = [row.user, row.agent, row.verb, resource || row.uri, row.namespace, row.object, row.code, row.why, row.name]
    .join(" ")
    .toLowerCase();
  return row;
}

export interface Second {
  time: number;
  ok: number;
  refused: number;
  failed: number;
}

type State = { kind: "listing" | "live" | "waiting"; problem?: Error };

/** Store follows the requests of the server. Its rows are ordered by time, the oldest first. */
class Store {
  rows: Row[] = [];
  state: State = { kind: "listing" };
  /** Events that came faster than the page could read. */
  dropped = 0;
  received = 0;
  seconds = new Map<number, Second>();
  own = false;

  private byName = new Map<string, Row>();
  private pending: string[] = [];
  private at = 0;
  private scheduled = false;
  private drawn = 0;
  private listeners = new Set<() => void>();
  private stop?: AbortController;

  subscribe(f: () => void): () => void {
    this.listeners.add(f);
    if (!this.stop) this.start();
    return () => this.listeners.delete(f);
  }

  /** Shows or hides the requests of the page itself. */
  showOwn(own: boolean) {
    this.own = own;
    this.stop?.abort();
    this.start();
  }

  private start() {
    const stop = (this.stop = new AbortController());
    const parameters: Record<string, string> = this.own ? {} : { fieldSelector: "userAgent!=" + ownAgent };
    const current = (f: () => void) => {
      if (this.stop === stop) f();
    };
    void follow<LabRequest>(
      requestsPath,
      parameters,
      {
        reset: () => current(() => this.reset()),
        page: (items) => current(() => this.page(items)),
        events: (lines) => current(() => this.events(lines)),
        state: (kind, problem) => current(() => this.setState({ kind, problem })),
      },
      stop.signal,
    );
  }

  private setState(s: State) {
    this.state = s;
    this.schedule();
  }

  private reset() {
    this.rows = [];
    this.byName.clear();
    this.pending = [];
    this.at = 0;
  }

  private page(items: LabRequest[]) {
    for (const item of items) this.put(toRow(item, item));
    // A list is ordered by name, and so in no order of time.
    this.rows.sort((a, b) => a.time - b.time);
    this.trim();
    this.schedule();
  }

  private events(lines: string[]) {
    this.pending.push(...lines);
    const waiting = this.pending.length - this.at;
    if (waiting > maxPending) {
      this.dropped += waiting - maxPending;
      this.at += waiting - maxPending;
    }
    this.schedule();
  }

  private put(row: Row) {
    const known = this.byName.get(row.name);
    if (known) {
      if (known.running && !row.running) this.count(row);
      Object.assign(known, row);
      return;
    }
    if (!row.running) this.count(row);
    this.byName.set(row.name, row);
    this.rows.push(row);
  }

  private count(row: Row) {
    const time = Math.floor((row.time + row.microseconds / 1000) / 1000);
    let second = this.seconds.get(time);
    if (!second) this.seconds.set(time, (second = { time, ok: 0, refused: 0, failed: 0 }));
    if (row.code >= 500 || row.code === 429) second.failed++;
    else if (row.code >= 400) second.refused++;
    else second.ok++;
    if (this.seconds.size > 600) for (const old of this.seconds.keys()) if (old < time - 300) this.seconds.delete(old);
  }

  private trim() {
    const over = this.rows.length - maxRows;
    if (over <= 0) return;
    for (const row of this.rows.splice(0, over)) this.byName.delete(row.name);
  }

  private schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame((now) => this.frame(now));
  }

  private frame(now: number) {
    this.scheduled = false;
    const until = performance.now() + budget;
    while (this.at < this.pending.length && performance.now() < until) this.apply(this.pending[this.at++]);
    if (this.at >= this.pending.length) {
      this.pending = [];
      this.at = 0;
    } else if (this.at > 4096) {
      this.pending.splice(0, this.at);
      this.at = 0;
    }
    this.trim();
    if (now - this.drawn < interval) return this.schedule();
    this.drawn = now;
    for (const f of this.listeners) f();
    if (this.pending.length) this.schedule();
  }

  private apply(line: string) {
    this.received++;
    const event = JSON.parse(line) as { type: string; object: LabRequest };
    // The server forgets the oldest requests. The page has room for some of them.
    if (event.type !== "DELETED") this.put(toRow(event.object, line));
  }

  find(name: string): Row | undefined {
    return this.byName.get(name);
  }
}

export const store = new Store();
