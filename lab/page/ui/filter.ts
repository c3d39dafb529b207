// The filter of the requests.

import type { Row } from "./store";

export interface Filter {
  text: string;
  verb: string;
  user: string;
  resource: string;
  namespace: string;
  /** 2, 3, 4, 5, or 0 for running requests. */
  classes: number[];
  /** Shortest duration in microseconds. */
  slow: number;
}

export const noFilter: Filter = { text: "", verb: "", user: "", resource: "", namespace: "", classes: [], slow: 0 };

export const writes = ["create", "update", "patch", "delete", "deletecollection"];

const matchesVerb = (verb: string, want: string) => (want === "writes" ? writes.includes(verb) : verb === want);

/** Returns the predicate of a filter; null if it keeps everything. */
export function predicate(f: Filter): ((row: Row) => boolean) | null {
  const tests: ((row: Row) => boolean)[] = [];
  if (f.verb) tests.push((r) => matchesVerb(r.verb, f.verb));
  if (f.user) tests.push((r) => r.user.includes(f.user));
  if (f.resource) tests.push((r) => r.resource.startsWith(f.resource));
  if (f.namespace) tests.push((r) => r.namespace === f.namespace);
  if (f.classes.length) tests.push((r) => f.classes.includes(r.running ? 0 : Math.floor(r.code / 100)));
  if (f.slow) tests.push((r) => r.microseconds >= f.slow);
  for (const word of f.text.toLowerCase().split(/\s+/)) {
    if (word.length > 1 && word.startsWith("-")) tests.push((r) => !r.text.includes(word.slice(1)));
    else if (word) tests.push((r) => r.text.includes(word));
  }
  return tests.length ? (row) => tests.every((t) => t(row)) : null;
}
