// What refused a request, and what would allow it.

import { useState } from "preact/hooks";
import { seconds } from "./format";
import { Facts, Fields, Section } from "./parts";
import { requestRoute } from "./requests";
import type { Cause, Missing } from "./types";

export function Refusal({ cause, user, groups }: { cause: Cause; user: string; groups: string[] }) {
  return (
    <Section title="Refused by" note={<b>{[cause.by, cause.name].filter(Boolean).join(" ")}</b>}>
      <div class="cause">
        {cause.message && <p>{cause.message}</p>}
        {cause.expression && <pre class="expression">{cause.expression}</pre>}
        {cause.fields?.length ? (
          <ul class="fields">
            {cause.fields.map((f, i) => (
              <li key={i}>
                <code class="path">{f.path}</code> {f.message} {f.type && <span class="by">{f.type}</span>}
              </li>
            ))}
          </ul>
        ) : null}
        {cause.missing && <Lacking missing={cause.missing} user={user} groups={groups} />}
        {cause.writes?.map((w, i) => (
          <div class="write" key={i}>
            <p>
              <b>{w.user || "unknown user"}</b> {w.manager && <>as {w.manager} </>}
              {w.time && <>at {seconds(Date.parse(w.time))} </>}
              {w.resourceVersion && <>made resourceVersion {w.resourceVersion} </>}
              {w.request && <a href={requestRoute(w.request)}>request</a>}
            </p>
            {w.fields && <Fields fields={w.fields} />}
          </div>
        ))}
      </div>
    </Section>
  );
}

function Lacking({ missing: m, user, groups }: { missing: Missing; user: string; groups: string[] }) {
  return (
    <>
      <p>
        <b>{user}</b> lacks{" "}
        <code>
          {m.verb} {m.path || [m.resource, m.group].filter(Boolean).join(".")} {m.name}
        </code>
        {m.namespace ? <> in namespace {m.namespace}</> : null}
      </p>
      {m.nearest?.length ? (
        <table class="grid">
          <caption>The rules that come nearest</caption>
          <thead>
            <tr>
              <th>rule</th>
              <th>lacks</th>
              <th>by</th>
            </tr>
          </thead>
          <tbody>
            {m.nearest.map((n, i) => (
              <tr key={i}>
                <td>
                  <code>{n.rule}</code>
                </td>
                <td>
                  {n.lacks.map((l) => (
                    <span class="lacks" key={l}>
                      {l}
                    </span>
                  ))}
                </td>
                <td>
                  {n.binding}
                  <br />
                  <span class="note">{n.role}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <Facts
          facts={[
            ["groups", groups.join(", ")],
            ["rules", "none comes near"],
          ]}
        />
      )}
      <Suggestion missing={m} user={user} />
    </>
  );
}

const quote = (text: string) => JSON.stringify(text);

/** A role and its binding that would allow the request, as YAML. */
export function suggestRole(m: Missing, user: string): string {
  const namespaced = Boolean(m.namespace);
  const kind = namespaced ? "Role" : "ClusterRole";
  const name = ["allow", m.verb, (m.resource ?? "path").replace(/[^a-z0-9]+/g, "-")].join("-");
  const meta = ["metadata:", `  name: ${name}`, ...(namespaced ? [`  namespace: ${quote(m.namespace!)}`] : [])];
  const rule = m.path
    ? [`- nonResourceURLs: [${quote(m.path)}]`]
    : [
        `- apiGroups: [${quote(m.group ?? "")}]`,
        `  resources: [${quote(m.resource ?? "")}]`,
        ...(m.name ? [`  resourceNames: [${quote(m.name)}]`] : []),
      ];
  const account = /^system:serviceaccount:([^:]+):(.+)$/.exec(user);
  const subject = account
    ? [`- kind: ServiceAccount`, `  namespace: ${quote(account[1])}`, `  name: ${quote(account[2])}`]
    : [`- apiGroup: rbac.authorization.k8s.io`, `  kind: User`, `  name: ${quote(user)}`];
  return [
    "apiVersion: rbac.authorization.k8s.io/v1",
    `kind: ${kind}`,
    ...meta,
    "rules:",
    ...rule,
    `  verbs: [${quote(m.verb)}]`,
    "---",
    "apiVersion: rbac.authorization.k8s.io/v1",
    `kind: ${kind}Binding`,
    ...meta,
    "roleRef:",
    "  apiGroup: rbac.authorization.k8s.io",
    `  kind: ${kind}`,
    `  name: ${name}`,
    "subjects:",
    ...subject,
    "",
  ].join("\n");
}

function Suggestion({ missing, user }: { missing: Missing; user: string }) {
  const [copied, setCopied] = useState(false);
  const text = suggestRole(missing, user);
  return (
    <details>
      <summary>A role that would allow it</summary>
      <pre class="yaml">{text}</pre>
      <button onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}>{copied ? "Copied" : "Copy"}</button>
    </details>
  );
}
