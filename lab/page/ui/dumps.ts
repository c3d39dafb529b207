// The dumps of API Priority and Fairness (apf/dump.go): a header, then a line for each thing, with commas.

import { getText } from "./api";
import { readMetrics, sum, type Metrics } from "./metrics";

const base = "/debug/api_priority_and_fairness/";

/** Rows by the names of the header. */
export function parseDump(text: string): Record<string, string>[] {
  const [head, ...rows] = text
    .split("\n")
    .filter((l) => l.trim())
    .map((l) => l.split(",").map((c) => c.trim()));
  if (!head) return [];
  return rows.map((cells) => Object.fromEntries(head.map((name, i) => [name, cells[i] ?? ""])));
}

export interface Waiting {
  key: string;
  level: string;
  schema: string;
  queue: number;
  place: number;
  distinguisher: string;
  seats: number;
  executing: boolean;
}

export interface Level {
  name: string;
  limit: number;
  waiting: number;
  executing: number;
  dispatched: number;
  rejected: number;
  timedOut: number;
  /** Number of waiting requests, by queue. */
  queues: number[];
  requests: Waiting[];
  exempt: boolean;
}

// The limits change every ten seconds at most, and the metrics are much to read.
const limitsFor = 3000;
let limits: { at: number; metrics: Promise<Metrics> } | undefined;

function readLimits(signal: AbortSignal): Promise<Metrics> {
  const now = performance.now();
  if (!limits || now - limits.at > limitsFor) {
    limits = { at: now, metrics: readMetrics(["apiserver_flowcontrol_current_limit_seats"], signal) };
    limits.metrics.catch(() => (limits = undefined));
  }
  return limits.metrics;
}

export async function readLevels(signal: AbortSignal): Promise<Level[]> {
  const [levels, queues, requests, metrics] = await Promise.all([
    getText(base + "dump_priority_levels", signal).then(parseDump),
    getText(base + "dump_queues", signal).then(parseDump),
    getText(base + "dump_requests", signal).then(parseDump),
    readLimits(signal),
  ]);
  return levels.map((l) => {
    const name = l.PriorityLevelName;
    const of = (rows: Record<string, string>[]) => rows.filter((r) => r.PriorityLevelName === name);
    return {
      name,
      limit: sum(metrics, "apiserver_flowcontrol_current_limit_seats", { priority_level: name }),
      waiting: Number(l.WaitingRequests),
      executing: Number(l.ExecutingRequests),
      dispatched: Number(l.DispatchedRequests),
      rejected: Number(l.RejectedRequests),
      timedOut: Number(l.TimedoutRequests),
      queues: of(queues).map((q) => Number(q.PendingRequests)),
      requests: of(requests).slice(0, 400).map(toRequest),
      exempt: name === "exempt",
    };
  });
}

function toRequest(r: Record<string, string>): Waiting {
  const place = Number(r.RequestIndexInQueue);
  return {
    key: [r.FlowSchemaName, r.FlowDistingsher, r.ArriveTime].join(" "),
    level: r.PriorityLevelName,
    schema: r.FlowSchemaName,
    queue: Number(r.QueueIndex),
    place,
    distinguisher: r.FlowDistingsher,
    seats: Number(r.InitialSeats) || 1,
    executing: place < 0,
  };
}
