// Who set each field of an object: from its managedFields, and from its changes.

import type { Change, KubeObject, ManagedFields } from "./types";

export interface Author {
  manager?: string;
  operation?: string;
  user?: string;
  time?: string;
  request?: string;
}

/** The parts of a path such as spec.containers[0].image or metadata.labels["a.b/c"], joined so that spellings are equal. */
export const joinPath = (path: string | string[]): string =>
  (Array.isArray(path)
    ? path.join(".")
    : path.replace(/\[(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\]]*))\]/g, (_, a, b, c) => "." + (a ?? b ?? c))
  ).replace(/^\./, "");

/** The managers of the fields, by their joined paths. */
export function managers(object: KubeObject): Map<string, ManagedFields> {
  const owners = new Map<string, ManagedFields>();
  for (const entry of object.metadata.managedFields ?? []) {
    const own = (path: string[]) => {
      const key = joinPath(path);
      const known = owners.get(key);
      // Of several owners the one who wrote last is shown.
      if (!known || (known.time ?? "") <= (entry.time ?? "")) owners.set(key, entry);
    };
    const walk = (fields: Record<string, unknown>, value: unknown, path: string[]) => {
      for (const [name, inner] of Object.entries(fields)) {
        const next = step(name, value);
        if (!next) continue;
        const at = [...path, next.part];
        const below = inner as Record<string, unknown>;
        // An empty set of fields owns all of the value.
        if (Object.keys(below).length === 0 || "." in below) own(at);
        walk(below, next.value, at);
      }
    };
    walk(entry.fieldsV1 ?? {}, object, []);
  }
  return owners;
}

/** The value in which a part of fieldsV1 is: f:NAME, k:{KEYS}, v:VALUE or i:INDEX. */
function step(name: string, value: unknown): { part: string; value: unknown } | null {
  if (typeof value !== "object" || value === null) return null;
  const kind = name.slice(0, 2);
  const rest = name.slice(2);
  if (kind === "f:") return rest in value ? { part: rest, value: (value as Record<string, unknown>)[rest] } : null;
  if (!Array.isArray(value)) return null;
  let at = -1;
  try {
    if (kind === "i:") at = Number(rest);
    else if (kind === "v:") at = value.findIndex((v) => JSON.stringify(v) === rest);
    else if (kind === "k:") {
      const keys = Object.entries(JSON.parse(rest));
      at = value.findIndex((item) =>
        keys.every(([k, v]) => item?.[k] === v || (item?.[k] === undefined && k === "protocol" && v === "TCP")),
      );
    }
  } catch {
    return null;
  }
  return at >= 0 && at < value.length ? { part: String(at), value: value[at] } : null;
}

interface Written {
  change: Change;
  /** JSON of the value, or undefined if it was removed. */
  after?: string;
}

/** Finds who wrote the values of an object. Changes are the newest first. */
export class Blame {
  private owners: Map<string, ManagedFields>;
  private written = new Map<string, Written[]>();
  private created?: Change;

  constructor(object: KubeObject, changes: Change[]) {
    this.owners = managers(object);
    for (const change of changes) {
      if (change.spec.type === "Created") this.created = change;
      for (const f of change.spec.fields ?? []) {
        const key = joinPath(f.path);
        const list = this.written.get(key);
        if (list) list.push({ change, after: f.after });
        else this.written.set(key, [{ change, after: f.after }]);
      }
    }
  }

  of(path: string[], value: unknown): Author {
    const owner = this.owner(path);
    // What no later change has set is as it was created. The status is written by others than the creator.
    const change = this.change(path, value) ?? (owner?.subresource ? undefined : this.created);
    const spec = change?.spec;
    return {
      manager: owner?.manager || spec?.manager,
      operation: owner?.operation,
      user: spec?.user,
      time: spec?.time ?? owner?.time,
      request: spec?.request,
    };
  }

  /** The manager of a field, or of the nearest field above it that has one. */
  private owner(path: string[]): ManagedFields | undefined {
    for (let n = path.length; n > 0; n--) {
      const owner = this.owners.get(joinPath(path.slice(0, n)));
      if (owner) return owner;
    }
    return undefined;
  }

  /** The newest change after which the field had its value. Elements of lists move, so that a path alone is not enough. */
  private change(path: string[], value: unknown): Change | undefined {
    const want = JSON.stringify(value);
    for (let n = path.length; n > 0; n--) {
      for (const { change, after } of this.written.get(joinPath(path.slice(0, n))) ?? []) {
        if (after === undefined) continue;
        if (n === path.length && after === want) return change;
        try {
          if (JSON.stringify(dig(JSON.parse(after), path.slice(n))) === want) return change;
        } catch {
          // Long values are cut.
        }
      }
    }
    return undefined;
  }
}

const dig = (value: unknown, path: string[]): unknown =>
  path.reduce<unknown>((v, part) => (typeof v === "object" && v !== null ? (v as Record<string, unknown>)[part] : undefined), value);
