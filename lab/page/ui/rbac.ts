// RBAC as the page reads it: which rules a subject has, by which binding.

import { listAll } from "./api";
import type { KubeObject } from "./types";

export interface Rule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

export interface Subject {
  kind: string;
  name: string;
  namespace?: string;
}

interface Binding extends KubeObject {
  subjects?: Subject[];
  roleRef: { kind: string; name: string };
}

export interface Grant {
  rule: Rule;
  /** The namespace in which it holds; empty for all. */
  namespace: string;
  binding: string;
  role: string;
  subjects: Subject[];
}

const group = "/apis/rbac.authorization.k8s.io/v1/";

/** All grants: the rules of each binding's role. */
export async function readGrants(signal: AbortSignal): Promise<Grant[]> {
  const list = async <T extends KubeObject>(resource: string) => (await listAll<T>(group + resource, {}, { signal, most: 20_000 })).items;
  const [clusterRoles, roles, clusterBindings, bindings] = await Promise.all([
    list<KubeObject>("clusterroles"),
    list<KubeObject>("roles"),
    list<Binding>("clusterrolebindings"),
    list<Binding>("rolebindings"),
  ]);
  const rules = new Map<string, Rule[]>();
  for (const r of clusterRoles) rules.set("/" + r.metadata.name, (r.rules as Rule[]) ?? []);
  for (const r of roles) rules.set(`${r.metadata.namespace}/${r.metadata.name}`, (r.rules as Rule[]) ?? []);
  const grants: Grant[] = [];
  for (const b of [...clusterBindings, ...bindings]) {
    const namespace = b.metadata.namespace ?? "";
    const from = b.roleRef.kind === "Role" ? namespace : "";
    for (const rule of rules.get(`${from}/${b.roleRef.name}`) ?? []) {
      grants.push({
        rule,
        namespace,
        binding: namespace ? `RoleBinding ${namespace}/${b.metadata.name}` : `ClusterRoleBinding ${b.metadata.name}`,
        role: `${b.roleRef.kind} ${b.roleRef.name}`,
        subjects: b.subjects ?? [],
      });
    }
  }
  return grants;
}

export interface User {
  name: string;
  groups: string[];
}

/** The user of a name, with the groups that the server gives. */
export function userOf(name: string, groups: string[]): User {
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
  const own = account ? ["system:serviceaccounts", `system:serviceaccounts:${account[1]}`] : [];
  const everybody = name === "system:anonymous" ? "system:unauthenticated" : "system:authenticated";
  return { name, groups: [...new Set([...groups, ...own, ...(name ? [everybody] : [])])] };
}

export const subjectText = (s: Subject) => (s.kind === "ServiceAccount" ? `system:serviceaccount:${s.namespace}:${s.name}` : s.name);

export const isSubject = (s: Subject, user: User) => (s.kind === "Group" ? user.groups.includes(s.name) : subjectText(s) === user.name);

export const grantsOf = (grants: Grant[], user: User) => grants.filter((g) => g.subjects.some((s) => isSubject(s, user)));

const has = (list: string[] | undefined, value: string) => Boolean(list?.includes("*") || list?.includes(value));

export interface Ask {
  verb: string;
  group: string;
  resource: string;
  namespace: string;
  name: string;
}

/** Whether a grant allows a request. */
export function allows(g: Grant, a: Ask): boolean {
  if (g.namespace && g.namespace !== a.namespace) return false;
  const r = g.rule;
  const [, subresource] = a.resource.split("/");
  const hasResource = has(r.resources, a.resource) || Boolean(subresource && r.resources?.includes("*/" + subresource));
  return has(r.verbs, a.verb) && has(r.apiGroups, a.group) && hasResource && (!r.resourceNames?.length || r.resourceNames.includes(a.name));
}
