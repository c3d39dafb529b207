// Open watches: who watches what, and how far behind they are.

import { useRef } from "preact/hooks";
import { listAll } from "./api";
import { age, agentName, count, parseDuration, duration, userName } from "./format";
import { usePoll } from "./hooks";
import { Empty, Problem } from "./parts";
import { requestRoute } from "./requests";
import { ownAgent, requestsPath } from "./store";
import type { LabRequest } from "./types";

/** The lag at which the bar is full, in microseconds. */
const fullLag = 1e6;

export function WatchesView() {
  const poll = usePoll(async (signal) => {
    const list = await listAll<LabRequest>(requestsPath, { fieldSelector: "verb=watch,phase=Running" }, { signal, most: 2000 });
    return list.items;
  }, 2000);
  const before = useRef(new Map<string, { at: number; events: number; rate: number }>());
  const watches = (poll.value ?? []).map((r) => {
    const events = r.status.watch?.events ?? 0;
    const known = before.current.get(r.metadata.name);
    let rate = known?.rate ?? 0;
    if (known && known.at !== poll.at) rate = Math.max(0, (events - known.events) / ((poll.at - known.at) / 1000));
    before.current.set(r.metadata.name, { at: poll.at, events, rate });
    return { request: r, events, rate, lag: parseDuration(r.status.watch?.lag ?? "") };
  });
  if (before.current.size > 2 * watches.length + 100) before.current.clear();
  watches.sort((a, b) => b.lag - a.lag || b.events - a.events);
  const own = watches.filter((w) => w.request.spec.userAgent === ownAgent).length;
  const shown = watches.filter((w) => w.request.spec.userAgent !== ownAgent);
  const worst = shown[0]?.lag ?? 0;
  const events = shown.reduce((n, w) => n + w.events, 0);

  return (
    <div class="view">
      <header class="title">
        <h1>Watches</h1>
        <p>
          {poll.value
            ? `${count(shown.length)} open, ${count(events)} events sent, greatest lag ${worst ? duration(worst) : "none"}`
            : "reading"}
          {own > 0 && `, and ${own} of this page`}
        </p>
      </header>
      <Problem problem={poll.problem} />
      {poll.value && shown.length === 0 && <Empty>Nobody watches.</Empty>}
      {shown.length > 0 && (
        <div class="wideTable">
          <table class="grid">
            <thead>
              <tr>
                <th>resource</th>
                <th>user</th>
                <th>agent</th>
                <th class="number">open for</th>
                <th class="number">events</th>
                <th class="number">per second</th>
                <th class="number">bookmarks</th>
                <th>lag</th>
              </tr>
            </thead>
            <tbody>
              {shown.slice(0, 500).map(({ request: r, events, rate, lag }) => (
                <tr key={r.metadata.name}>
                  <td>
                    <a href={requestRoute(r.metadata.name)}>{[r.spec.resource, r.spec.group].filter(Boolean).join(".")}</a>
                    {(r.spec.namespace || r.spec.objectName) && (
                      <span class="note">{[r.spec.namespace, r.spec.objectName].filter(Boolean).join("/")}</span>
                    )}
                  </td>
                  <td title={r.spec.user}>{userName(r.spec.user ?? "")}</td>
                  <td title={r.spec.userAgent}>{agentName(r.spec.userAgent ?? "")}</td>
                  <td class="number">{age(poll.at - Date.parse(r.spec.time))}</td>
                  <td class="number">{count(events)}</td>
                  <td class="number">{rate ? rate.toFixed(1) : "–"}</td>
                  <td class="number">{count(r.status.watch?.bookmarks ?? 0)}</td>
                  <td class="meterCell">
                    <span class="meter" aria-hidden="true">
                      <i
                        class={lag > 1e5 ? "bad" : lag > 1e4 ? "warn" : ""}
                        style={{ width: Math.min(100, Math.sqrt(lag / fullLag) * 100) + "%" }}
                      />
                    </span>
                    {r.status.watch?.lag ? duration(lag) : "–"}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}
