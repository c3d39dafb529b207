// The rules of a user as a matrix of resources and verbs.

import { useState } from "preact/hooks";
import type { Grant } from "./rbac";
import type { Resource } from "./types";

const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
const heads: Record<string, string> = { deletecollection: "del. all" };
const mostRows = 200;

interface Row {
  name: string;
  cells: Map<string, Grant[]>;
}

/** Rows of the resources that the rules name, with the grants of each verb. */
function toRows(grants: Grant[]): Row[] {
  const rows = new Map<string, Row>();
  for (const g of grants) {
    const r = g.rule;
    const names =
      r.nonResourceURLs ??
      (r.apiGroups ?? [""]).flatMap((group) =>
        (r.resources ?? []).map((n) => (group === "" ? n : group === "*" ? (n === "*" ? "*" : n + ".*") : `${n}.${group}`)),
      );
    for (const name of names) {
      let row = rows.get(name);
      if (!row) rows.set(name, (row = { name, cells: new Map() }));
      for (const verb of r.verbs) row.cells.set(verb, [...(row.cells.get(verb) ?? []), g]);
    }
  }
  return [...rows.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** What a cell says: everywhere, in some namespaces, or some names only. */
function mark(grants: Grant[]): { text: string; class: string } {
  if (grants.some((g) => !g.namespace && !g.rule.resourceNames?.length)) return { text: "●", class: "all" };
  if (grants.some((g) => g.namespace && !g.rule.resourceNames?.length)) return { text: "◐", class: "some" };
  return { text: "○", class: "names" };
}

const words = { all: "everywhere", some: "in some namespaces", names: "some names only" } as Record<string, string>;

export function Matrix({ grants }: { grants: Grant[]; all: Resource[] }) {
  const [chosen, choose] = useState<{ row: string; verb: string }>();
  const rows = toRows(grants);
  const others = [...new Set(rows.flatMap((r) => [...r.cells.keys()]))].filter((v) => v !== "*" && !verbs.includes(v)).sort();
  const columns = [...verbs, ...others];
  const cell = (row: Row, verb: string) => [...(row.cells.get(verb) ?? []), ...(row.cells.get("*") ?? [])];
  const at = rows.find((r) => r.name === chosen?.row);
  const reasons = at && chosen ? cell(at, chosen.verb) : [];
  return (
    <>
      <p class="note">
        <span class="all">●</span> everywhere <span class="some">◐</span> in some namespaces <span class="names">○</span>
        some names only. A cell shows its bindings.
      </p>
      {reasons.length > 0 && (
        <ul class="reasons" role="status">
          {reasons.slice(0, 8).map((g, i) => (
            <li key={i}>
              <b>
                {chosen!.verb} {chosen!.row}
              </b>{" "}
              by {g.binding}, {g.role}
              {g.rule.resourceNames?.length ? `, only ${g.rule.resourceNames.slice(0, 5).join(", ")}` : ""}
            </li>
          ))}
        </ul>
      )}
      <div class="wideTable">
        <table class="grid matrix">
          <thead>
            <tr>
              <th>resource</th>
              {columns.map((v) => (
                <th key={v} class="verbHead" title={v}>
                  <span>{heads[v] ?? v}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, mostRows).map((row) => (
              <tr key={row.name}>
                <th scope="row">{row.name}</th>
                {columns.map((v) => {
                  const found = cell(row, v);
                  if (found.length === 0) return <td key={v} />;
                  const m = mark(found);
                  return (
                    <td key={v}>
                      <button
                        class={"quiet " + m.class}
                        aria-label={`${v} ${row.name}: ${words[m.class]}`}
                        aria-pressed={chosen?.row === row.name && chosen.verb === v}
                        onClick={() => choose({ row: row.name, verb: v })}
                      >
                        {m.text}
                      </button>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > mostRows && <p class="note">and {rows.length - mostRows} more</p>}
    </>
  );
}
