// The changes of an object, the newest first.

import { clock, userName } from "./format";
import { Empty, Fields, Problem, Section } from "./parts";
import { requestRoute } from "./requests";
import type { Change } from "./types";

interface Props {
  changes?: Change[];
  problem?: Error;
  chosen: string;
  choose: (change: Change) => void;
}

export function History({ changes, problem, chosen, choose }: Props) {
  return (
    <Section title="History" note={changes ? `${changes.length} revisions` : "reading"}>
      <Problem problem={problem} />
      {changes && changes.length === 0 && <Empty>The server keeps no change of this object.</Empty>}
      <ol class="history">
        {changes?.slice(0, 200).map((c) => {
          const s = c.spec;
          return (
            <li key={c.metadata.name} class={s.type.toLowerCase() + (chosen === c.metadata.name ? " chosen" : "")}>
              <p>
                <time>{s.time ? clock(Date.parse(s.time)) : "time not known"}</time> <b>{userName(s.user ?? "") || "unknown user"}</b>{" "}
                {s.request ? <a href={requestRoute(s.request)}>{s.verb || s.type.toLowerCase()}</a> : s.type.toLowerCase()}
                {s.manager && <span class="by">{s.manager}</span>}
                {s.type !== "Deleted" && !s.hidden && (
                  <button class="link" aria-pressed={chosen === c.metadata.name} onClick={() => choose(c)}>
                    {s.resourceVersion}
                  </button>
                )}
              </p>
              {s.hidden && <p class="note">{s.hidden}</p>}
              {s.type === "Created" ? (
                <p class="note">created</p>
              ) : s.type === "Deleted" ? (
                <p class="note">deleted</p>
              ) : (
                <Fields fields={s.fields ?? []} />
              )}
            </li>
          );
        })}
      </ol>
    </Section>
  );
}
