// An object: who set each of its fields, its history, and its owners and dependents.

import { useEffect, useMemo, useState } from "preact/hooks";
import { follow, listAll, metadataOnly, query, getJSON } from "./api";
import { pathOf, resourceID, resources } from "./discovery";
import { objectRoute } from "./format";
import { usePoll, type Route } from "./hooks";
import { History } from "./history";
import { Family } from "./family";
import { Empty, Field, Problem } from "./parts";
import { Source } from "./source";
import type { Change, KubeObject, Resource } from "./types";

const changesPath = "/apis/lab.miniapiserver.io/v1alpha1/changes";

/** The parts of an address: RESOURCE.GROUP/NAMESPACE/NAME, or without the namespace. */
export function parseObject(rest: string[], all: Resource[]) {
  const resource = all.find((r) => resourceID(r) === rest[0]) ?? all.find((r) => r.resource === rest[0]);
  const namespaced = resource?.namespaced ?? rest.length > 2;
  return { resource, namespace: namespaced ? (rest[1] ?? "") : "", name: (namespaced ? rest[2] : rest[1]) ?? "" };
}

export function ObjectsView({ route }: { route: Route }) {
  const discovered = usePoll(() => resources(), 0);
  const all = discovered.value ?? [];
  const { resource, namespace, name } = parseObject(route.rest, all);
  const go = (resource: string, namespace: string, name: string) => {
    location.hash = objectRoute(resource, namespace, name).slice(1);
  };
  const id = resource ? resourceID(resource) : (route.rest[0] ?? "");
  const names = usePoll(
    async (signal) => {
      if (!resource) return [];
      const list = await listAll<KubeObject>(pathOf(resource), {}, { signal, accept: metadataOnly, most: 1000 });
      return list.items.map((o) => ({ namespace: o.metadata.namespace ?? "", name: o.metadata.name }));
    },
    10_000,
    [id, Boolean(resource)],
  );
  const inNamespace = (names.value ?? []).filter((n) => !namespace || n.namespace === namespace);
  const namespaces = [...new Set((names.value ?? []).map((n) => n.namespace))].sort();
  const isComplete = Boolean(resource && name && (namespace || !resource.namespaced));

  return (
    <div class="view objects">
      <header class="bar">
        <Field
          label="Resource"
          class="long"
          value={id}
          delay={600}
          set={(v) => v !== id && go(v.trim(), "", "")}
          suggest={all.filter((r) => r.verbs.includes("get")).map(resourceID)}
          placeholder="deployments.apps"
        />
        {(!resource || resource.namespaced) && (
          <Field
            label="Namespace"
            value={namespace}
            delay={600}
            set={(v) => v !== namespace && go(id, v.trim(), "")}
            suggest={namespaces}
          />
        )}
        <Field
          label="Name"
          class="long"
          value={name}
          delay={600}
          set={(v) => {
            const known = inNamespace.find((n) => n.name === v.trim());
            if (v !== name) go(id, resource?.namespaced ? namespace || known?.namespace || "default" : "", v.trim());
          }}
          suggest={inNamespace.map((n) => n.name)}
        />
      </header>
      <Problem problem={discovered.problem ?? names.problem} />
      {!id && <Empty>Choose a resource. The table of requests leads here as well.</Empty>}
      {id && discovered.value && !resource && <Empty>The API has no resource {id}.</Empty>}
      {resource && !isComplete && <Choice resource={resource} names={inNamespace} ready={names.value !== undefined} />}
      {resource && isComplete && (
        <Shown key={[id, namespace, name].join("/")} resource={resource} namespace={namespace} name={name} all={all} />
      )}
    </div>
  );
}

function Choice({ resource, names, ready }: { resource: Resource; names: { namespace: string; name: string }[]; ready: boolean }) {
  if (ready && names.length === 0) return <Empty>There are no {resource.resource}.</Empty>;
  return (
    <ul class="choice">
      {names.slice(0, 500).map((n) => (
        <li key={n.namespace + "/" + n.name}>
          <a href={objectRoute(resourceID(resource), n.namespace, n.name)}>
            {n.namespace && <span class="note">{n.namespace}/</span>}
            {n.name}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Follows an object and its changes. */
function useObject(resource: Resource, namespace: string, name: string) {
  const [object, setObject] = useState<KubeObject>();
  const [state, setState] = useState<{ deleted?: boolean; problem?: Error }>({});
  const [changes, setChanges] = useState<Change[]>();
  const [problem, setProblem] = useState<Error>();
  const path = pathOf(resource, namespace);
  useEffect(() => {
    const stop = new AbortController();
    let seen = false;
    const take = (o: KubeObject) => {
      seen = true;
      setObject({ apiVersion: resource.group ? `${resource.group}/${resource.version}` : resource.version, kind: resource.kind, ...o });
      setState((s) => ({ ...s, deleted: false }));
    };
    void follow<KubeObject>(
      path,
      { fieldSelector: "metadata.name=" + name },
      {
        reset: () => (seen = false),
        page: (items) => items.forEach(take),
        events: (lines) => {
          for (const line of lines) {
            const e = JSON.parse(line) as { type: string; object: KubeObject };
            if (e.type !== "DELETED") take(e.object);
            else {
              seen = false;
              setState((s) => ({ ...s, deleted: true }));
            }
          }
        },
        state: (kind, problem) => setState((s) => ({ problem, deleted: kind === "live" && !seen ? true : s.deleted })),
      },
      stop.signal,
    );
    return () => stop.abort();
  }, [path, name]);
  const id = [resourceID(resource), resource.namespaced ? namespace : "", name].filter(Boolean).join("/");
  useEffect(() => {
    const stop = new AbortController();
    listAll<Change>(changesPath, { fieldSelector: "object=" + id }, { signal: stop.signal, most: 1000 }).then(
      (list) => {
        setChanges(list.items.sort((a, b) => Number(b.spec.resourceVersion) - Number(a.spec.resourceVersion)));
        setProblem(undefined);
      },
      (e) => !stop.signal.aborted && setProblem(e),
    );
    return () => stop.abort();
  }, [id, object?.metadata.resourceVersion, state.deleted]);
  return { object, changes, state, problem };
}

function Shown({ resource, namespace, name, all }: { resource: Resource; namespace: string; name: string; all: Resource[] }) {
  const { object, changes, state, problem } = useObject(resource, namespace, name);
  const [then, setThen] = useState<Change>();
  const isKept = then && changes?.some((c) => c.metadata.name === then.metadata.name);
  const past = useMemo(() => (isKept && then.spec.after ? (JSON.parse(then.spec.after) as KubeObject) : undefined), [then, isKept]);
  const show = (change: Change) => {
    if (then?.metadata.name === change.metadata.name) return setThen(undefined);
    getJSON<Change>(query(`${changesPath}/${encodeURIComponent(change.metadata.name)}`, {})).then(setThen, () => setThen(undefined));
  };
  const shown = past ?? object;
  const until = past
    ? (changes ?? []).filter((c) => Number(c.spec.resourceVersion) <= Number(then!.spec.resourceVersion))
    : (changes ?? []);
  return (
    <>
      <header class="title">
        <h1>
          {resource.kind} {namespace && <span class="note">{namespace}/</span>}
          {name}
        </h1>
        <p role="status">
          {state.deleted
            ? object
              ? "deleted"
              : "there is no such object"
            : object
              ? `resourceVersion ${object.metadata.resourceVersion}, live`
              : "reading"}
          {past && (
            <>
              {" "}
              · shown as it was at resourceVersion {then!.spec.resourceVersion}{" "}
              <button class="link" onClick={() => setThen(undefined)}>
                now
              </button>
            </>
          )}
        </p>
      </header>
      <Problem problem={state.problem} />
      <div class="twoColumns">
        <div>{shown && <Source object={shown} changes={until} />}</div>
        <div>
          <History changes={changes} problem={problem} chosen={past ? then!.metadata.name : ""} choose={show} />
          {object && <Family object={object} resource={resource} all={all} />}
        </div>
      </div>
    </>
  );
}
