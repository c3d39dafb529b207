// Metrics of the server, in the text format of Prometheus.

import { getText } from "./api";

export interface Sample {
  labels: Record<string, string>;
  value: number;
}

export type Metrics = Map<string, Sample[]>;

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Parses the metrics whose names begin with one of the prefixes. */
export function parseMetrics(text: string, prefixes: string[]): Metrics {
  const found: Metrics = new Map();
  for (const row of text.split("\n")) {
    if (!prefixes.some((p) => row.startsWith(p))) continue;
    const match = line.exec(row);
    if (!match) continue;
    const labels: Record<string, string> = {};
    for (const [, name, value] of (match[2] ?? "").matchAll(label))
      labels[name] = value.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
    const sample = { labels, value: Number(match[3]) };
    const list = found.get(match[1]);
    if (list) list.push(sample);
    else found.set(match[1], [sample]);
  }
  return found;
}

export const readMetrics = async (prefixes: string[], signal: AbortSignal) => parseMetrics(await getText("/metrics", signal), prefixes);

type Match = Record<string, string>;

const matches = (s: Sample, m: Match) => Object.entries(m).every(([k, v]) => s.labels[k] === v);

/** The sum of the samples with the labels. */
export const sum = (m: Metrics, name: string, match: Match = {}) =>
  (m.get(name) ?? []).reduce((n, s) => (matches(s, match) ? n + s.value : n), 0);

/** The values of a label of a metric. */
export const labelValues = (m: Metrics, name: string, of: string) => [...new Set((m.get(name) ?? []).map((s) => s.labels[of]))].sort();

export interface Distribution {
  count: number;
  sum: number;
  /** Observations up to a bound, by bound. */
  buckets: [number, number][];
}

/** A histogram, summed over the series with the labels. */
export function histogram(m: Metrics, name: string, match: Match): Distribution {
  const bounds = new Map<number, number>();
  for (const s of m.get(name + "_bucket") ?? []) {
    if (!matches(s, match)) continue;
    const bound = s.labels.le === "+Inf" ? Infinity : Number(s.labels.le);
    bounds.set(bound, (bounds.get(bound) ?? 0) + s.value);
  }
  return {
    count: sum(m, name + "_count", match),
    sum: sum(m, name + "_sum", match),
    buckets: [...bounds].sort((a, b) => a[0] - b[0]),
  };
}

/** The upper bound of the bucket that has a quantile, in the unit of the histogram. */
export function quantile(d: Distribution, q: number): number {
  if (d.count === 0) return NaN;
  const rank = q * d.count;
  for (const [bound, below] of d.buckets) if (below >= rank) return bound;
  return NaN;
}

/** The bars of a histogram: how many observations each bucket has. */
export const bars = (d: Distribution): number[] => d.buckets.map(([, n], i) => n - (i ? d.buckets[i - 1][1] : 0));
