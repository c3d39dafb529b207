// Who can do what, and why: an answer of the authorizers, everybody who can, and all that a user can.

import { useEffect, useMemo, useState } from "preact/hooks";
import { post } from "./api";
import { resourceID, resources } from "./discovery";
import { usePoll } from "./hooks";
import { Empty, Field, Problem, Section } from "./parts";
import { Matrix } from "./matrix";
import { allows, grantsOf, readGrants, subjectText, userOf, type Ask, type Grant, type User } from "./rbac";
import { store } from "./store";
import type { Resource } from "./types";

const verbs = [
  "get",
  "list",
  "watch",
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
  "impersonate",
  "bind",
  "escalate",
  "approve",
  "use",
];

interface Answer {
  status: { allowed: boolean; denied?: boolean; reason?: string; evaluationError?: string };
}

/** The question stays when another view is shown. */
let remembered = { user: "", groups: "", verb: "get", resource: "pods", namespace: "default", name: "" };

const split = (resource: string): { resource: string; group: string } => {
  const [whole, subresource] = resource.trim().split("/");
  const at = whole.indexOf(".");
  const name = at < 0 ? whole : whole.slice(0, at);
  return { resource: subresource ? `${name}/${subresource}` : name, group: at < 0 ? "" : whole.slice(at + 1) };
};

export function AccessView() {
  const [q, setQ] = useState(remembered);
  const change = (part: Partial<typeof q>) => setQ((old) => (remembered = { ...old, ...part }));
  const grants = usePoll(readGrants, 5000);
  const discovered = usePoll(() => resources(), 0);
  const all = discovered.value ?? [];
  const groups = q.groups
    .split(",")
    .map((g) => g.trim())
    .filter(Boolean);
  const user = useMemo(() => userOf(q.user.trim(), groups), [q.user, q.groups]);
  const known = useMemo(() => suggestions(grants.value ?? []), [grants.value]);
  const isPath = q.resource.startsWith("/");
  const what = split(q.resource);
  const namespaced = all.find((r) => r.resource === what.resource.split("/")[0] && r.group === what.group)?.namespaced ?? true;
  const ask: Ask = { verb: q.verb, ...what, namespace: namespaced ? q.namespace.trim() : "", name: q.name.trim() };
  return (
    <div class="view access">
      <header class="bar">
        <Field
          label="User"
          class="long"
          value={q.user}
          set={(user) => change({ user })}
          suggest={known.users}
          placeholder="system:serviceaccount:default:app"
        />
        <Field
          label="Groups"
          value={q.groups}
          set={(groups) => change({ groups })}
          suggest={known.groups}
          placeholder="developers, testers"
        />
        <Field label="Verb" value={q.verb} set={(verb) => change({ verb: verb.trim() })} suggest={verbs} class="brief" />
        <Field
          label="Resource or path"
          class="long"
          value={q.resource}
          set={(resource) => change({ resource })}
          suggest={all.map(resourceID)}
        />
        {!isPath && namespaced && (
          <Field label="Namespace" value={q.namespace} set={(namespace) => change({ namespace })} placeholder="all" />
        )}
        {!isPath && <Field label="Name" value={q.name} set={(name) => change({ name })} placeholder="any" />}
      </header>
      <Problem problem={grants.problem} />
      {user.name || user.groups.length ? (
        <Decision user={user} ask={ask} path={isPath ? q.resource : ""} at={grants.value} />
      ) : (
        <Empty>Name a user, a service account or a group.</Empty>
      )}
      <div class="twoColumns even">
        <Who grants={grants.value ?? []} ask={ask} isPath={isPath} choose={(user, group) => change({ user, groups: group })} />
        {(user.name || user.groups.length > 0) && <Everything grants={grantsOf(grants.value ?? [], user)} user={user} all={all} />}
      </div>
    </div>
  );
}

/** The users and groups of the bindings and of the requests. */
function suggestions(grants: Grant[]): { users: string[]; groups: string[] } {
  const users = new Set<string>();
  const groups = new Set<string>();
  for (const row of store.rows.slice(-500)) if (row.user) users.add(row.user);
  for (const g of grants) for (const s of g.subjects) (s.kind === "Group" ? groups : users).add(subjectText(s));
  return { users: [...users].sort(), groups: [...groups].sort() };
}

function Decision({ user, ask, path, at }: { user: User; ask: Ask; path: string; at: unknown }) {
  const [answer, setAnswer] = useState<Answer["status"]>();
  const [problem, setProblem] = useState<Error>();
  const spec = {
    user: user.name || undefined,
    groups: user.groups,
    ...(path
      ? { nonResourceAttributes: { path, verb: ask.verb } }
      : {
          resourceAttributes: {
            verb: ask.verb,
            group: ask.group,
            resource: ask.resource.split("/")[0],
            subresource: ask.resource.split("/")[1],
            namespace: ask.namespace,
            name: ask.name,
          },
        }),
  };
  const question = JSON.stringify(spec);
  useEffect(() => {
    const stop = new AbortController();
    post<Answer>(
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec },
      stop.signal,
    ).then(
      (a) => (setAnswer(a.status), setProblem(undefined)),
      (e) => !stop.signal.aborted && (setProblem(e), setAnswer(undefined)),
    );
    return () => stop.abort();
  }, [question, at]);
  if (problem) return <Problem problem={problem} />;
  if (!answer) return <p class="decision">asking</p>;
  return (
    <div class={"decision " + (answer.allowed ? "allowed" : "refused")} role="status">
      <b>{answer.allowed ? "yes" : "no"}</b>
      <div>
        <p>
          {user.name || user.groups.join(", ")} {answer.allowed ? "may" : "may not"} {ask.verb}{" "}
          {path || [ask.resource, ask.group].filter(Boolean).join(".")} {!path && ask.name}
          {!path && ask.namespace && ` in namespace ${ask.namespace}`}
        </p>
        <p class="reason">{answer.reason || (answer.allowed ? "" : "no rule of the user allows it")}</p>
        {answer.evaluationError && <p class="problem">{answer.evaluationError}</p>}
      </div>
    </div>
  );
}

function Who({
  grants,
  ask,
  isPath,
  choose,
}: {
  grants: Grant[];
  ask: Ask;
  isPath: boolean;
  choose: (user: string, groups: string) => void;
}) {
  if (isPath) return <div />;
  const found = grants.filter((g) => allows(g, ask)).flatMap((g) => g.subjects.map((s) => ({ s, g })));
  const rows = [...new Map(found.map((f) => [f.s.kind + subjectText(f.s) + f.g.binding, f])).values()].slice(0, 300);
  return (
    <Section title={`Who can ${ask.verb} ${[ask.resource, ask.group].filter(Boolean).join(".")}`} note={`${rows.length} by RBAC`}>
      {rows.length === 0 && <Empty>Nobody by RBAC.</Empty>}
      {rows.length > 0 && (
        <table class="grid">
          <thead>
            <tr>
              <th>subject</th>
              <th>by</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ s, g }, i) => (
              <tr key={i}>
                <td>
                  <button class="link" onClick={() => (s.kind === "Group" ? choose("", s.name) : choose(subjectText(s), ""))}>
                    {subjectText(s)}
                  </button>
                  {s.kind === "Group" && <span class="by">group</span>}
                </td>
                <td>
                  {g.binding}
                  {g.role.split(" ")[1] !== g.binding.split(" ")[1] && <span class="note">{g.role}</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

function Everything({ grants, user, all }: { grants: Grant[]; user: User; all: Resource[] }) {
  return (
    <Section title={`All that ${user.name || user.groups[0]} can`} note="by RBAC">
      {grants.length === 0 ? (
        <Empty>No binding names the user or its groups {user.groups.join(", ")}.</Empty>
      ) : (
        <Matrix grants={grants} all={all} />
      )}
    </Section>
  );
}
