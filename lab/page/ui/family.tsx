// Owners and dependents of an object, as a tree.

import { listAll, metadataOnly } from "./api";
import { pathOf, resourceID } from "./discovery";
import { objectRoute } from "./format";
import { usePoll } from "./hooks";
import { Empty, Problem, Section } from "./parts";
import type { KubeObject, Resource } from "./types";

interface Member {
  resource: Resource;
  object: KubeObject;
}

const mostPerResource = 1000;
const atATime = 3;

/** The objects that may belong to the family: those of the namespace, or all if the object is in none. */
async function readMembers(all: Resource[], namespace: string, signal: AbortSignal): Promise<Member[]> {
  const listed = all.filter((r) => r.verbs.includes("list") && r.verbs.includes("delete") && r.resource !== "events");
  const waiting = listed.filter((r) => r.group !== "lab.miniapiserver.io" && (!namespace || r.namespaced));
  const members: Member[] = [];
  const work = async () => {
    for (let r = waiting.shift(); r; r = waiting.shift()) {
      const resource = r;
      try {
        const list = await listAll<KubeObject>(pathOf(resource, namespace), {}, { signal, accept: metadataOnly, most: mostPerResource });
        for (const object of list.items) members.push({ resource, object });
      } catch (e) {
        // A resource that cannot be read, such as one of an aggregated server that is down, hides no others.
        if (signal.aborted) throw e;
      }
    }
  };
  await Promise.all(Array.from({ length: atATime }, work));
  return members;
}

export function Family({ object, resource, all }: { object: KubeObject; resource: Resource; all: Resource[] }) {
  const uid = object.metadata.uid ?? "";
  const namespace = object.metadata.namespace ?? "";
  const { value, problem } = usePoll((signal) => readMembers(all, namespace, signal), 10_000, [uid, all.length]);
  const members = value ?? [];
  const byUID = new Map(members.map((m) => [m.object.metadata.uid, m]));
  const owners: string[] = [];
  // The chain of controllers upwards; an owner that is gone ends it.
  for (let at: KubeObject | undefined = object; at && owners.length < 10;) {
    const refs: NonNullable<KubeObject["metadata"]["ownerReferences"]> = at.metadata.ownerReferences ?? [];
    const up = refs.find((r) => r.controller) ?? refs[0];
    if (!up || owners.includes(up.uid)) break;
    owners.unshift(up.uid);
    at = byUID.get(up.uid)?.object;
  }
  const children = new Map<string, Member[]>();
  for (const m of members)
    for (const ref of m.object.metadata.ownerReferences ?? []) children.set(ref.uid, [...(children.get(ref.uid) ?? []), m]);
  const top = byUID.get(owners[0]) ?? { resource, object };
  const missing = object.metadata.ownerReferences?.filter((r) => value && namespace && !byUID.has(r.uid)) ?? [];
  const isAlone = owners.length === 0 && !children.has(uid);
  return (
    <Section title="Owners and dependents" note={value ? undefined : "reading"}>
      <Problem problem={problem} />
      {missing.map((r) => (
        <p class="note" key={r.uid}>
          owner {r.kind} {r.name} is not in this namespace: it is gone, or belongs to the cluster
        </p>
      ))}
      {value && isAlone ? (
        <Empty>It has no owner, and owns nothing.</Empty>
      ) : (
        value && (
          <ul class="tree" role="tree">
            <Node member={top} children={children} current={uid} depth={0} />
          </ul>
        )
      )}
    </Section>
  );
}

const mostShown = 20;

function Node({ member, children, current, depth }: { member: Member; children: Map<string, Member[]>; current: string; depth: number }) {
  const { resource, object } = member;
  const uid = object.metadata.uid ?? "";
  const below = depth < 10 ? (children.get(uid) ?? []) : [];
  const { namespace = "", name } = object.metadata;
  return (
    <li role="treeitem" aria-current={uid === current ? "true" : undefined}>
      <a class={"member" + (uid === current ? " current" : "")} href={objectRoute(resourceID(resource), namespace, name)}>
        <span class="kind">{resource.kind}</span> {name}
        {object.metadata.deletionTimestamp ? <span class="by">being deleted</span> : null}
      </a>
      {below.length > 0 && (
        <ul role="group">
          {below.slice(0, mostShown).map((m) => (
            <Node key={m.object.metadata.uid} member={m} children={children} current={current} depth={depth + 1} />
          ))}
          {below.length > mostShown && <li class="note">and {below.length - mostShown} more</li>}
        </ul>
      )}
    </li>
  );
}
