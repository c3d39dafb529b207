// The resources that the API serves.

import { getJSON } from "./api";
import type { Resource } from "./types";

const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

interface Discovery {
  items?: {
    metadata?: { name?: string };
    versions?: { version: string; resources?: { resource: string; responseKind?: { kind: string }; scope: string; verbs: string[] }[] }[];
  }[];
}

let known: Promise<Resource[]> | undefined;

/** The resources in the version that the server prefers. They are read again after a while, since definitions come and go. */
export function resources(): Promise<Resource[]> {
  if (!known) {
    known = read();
    known.catch(() => (known = undefined));
    setTimeout(() => (known = undefined), 30_000);
  }
  return known;
}

async function read(): Promise<Resource[]> {
  const [core, groups] = await Promise.all(["/api", "/apis"].map((path) => getJSON<Discovery>(path, undefined, accept)));
  const found = new Map<string, Resource>();
  for (const g of [...(core.items ?? []), ...(groups.items ?? [])]) {
    const group = g.metadata?.name ?? "";
    for (const v of g.versions ?? []) {
      for (const r of v.resources ?? []) {
        const id = resourceID({ resource: r.resource, group });
        if (found.has(id)) continue;
        found.set(id, {
          group,
          version: v.version,
          resource: r.resource,
          kind: r.responseKind?.kind ?? r.resource,
          namespaced: r.scope === "Namespaced",
          verbs: r.verbs,
        });
      }
    }
  }
  return [...found.values()];
}

/** The resource with its group: deployments.apps. */
export const resourceID = (r: { resource: string; group: string }) => (r.group ? `${r.resource}.${r.group}` : r.resource);

export function pathOf(r: Resource, namespace = "", name = ""): string {
  const base = r.group ? `/apis/${r.group}/${r.version}` : `/api/${r.version}`;
  const scope = r.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${base}${scope}/${r.resource}${name ? "/" + encodeURIComponent(name) : ""}`;
}
