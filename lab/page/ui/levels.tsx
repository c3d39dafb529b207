// Flow control as a moving picture: requests wait in the queues of their level, then take seats.

import { useRef, useState } from "preact/hooks";
import { readLevels, type Level, type Waiting } from "./dumps";
import { count } from "./format";
import { useHistory, usePoll } from "./hooks";
import { Empty, Problem } from "./parts";
import { StackedPlot, type Series } from "./plot";

const remembered = 180;
/** The size of a dot with the gap beside it, in pixels. */
const dot = 11;
const lanes = 10;
const places = 22;
/** The most columns of seats. */
const mostColumns = 26;

const series: Series[] = [
  { label: "waiting", colour: "hold" },
  { label: "executing", colour: "calm" },
];

export function LevelsView() {
  const poll = usePoll(readLevels, 500);
  const history = useHistory<Level[]>(poll.value, poll.at, remembered);
  const [chosen, choose] = useState("");
  const levels = (poll.value ?? []).slice().sort((a, b) => Number(a.exempt) - Number(b.exempt) || b.limit - a.limit);
  const plotted = chosen || "all levels";
  const sumOf = (at: Level[], what: "waiting" | "executing") => at.reduce((n, l) => (!chosen || l.name === chosen ? n + l[what] : n), 0);
  return (
    <div class="view">
      <header class="title">
        <h1>Flow control</h1>
        <p>
          {poll.value
            ? `${count(sumOf(levels, "executing"))} executing, ${count(sumOf(levels, "waiting"))} waiting in ${plotted}`
            : "reading"}
          <span class="key">
            <i class="swatch calm" /> executing
          </span>
          <span class="key">
            <i class="swatch hold" /> waiting
          </span>
        </p>
      </header>
      <Problem problem={poll.problem} />
      {history.length > 1 && (
        <StackedPlot
          series={series}
          height={110}
          times={history.map((h) => h.at / 1000)}
          values={[history.map((h) => sumOf(h.value, "waiting")), history.map((h) => sumOf(h.value, "executing"))]}
          label={`Requests of ${plotted} over time`}
        />
      )}
      {poll.value && levels.length === 0 && <Empty>Flow control is off.</Empty>}
      <div class="cards levels">
        {levels.map((l) => (
          <Card
            key={l.name}
            level={l}
            before={history[history.length - 2]?.value.find((b) => b.name === l.name)}
            chosen={l.name === chosen}
            choose={() => choose(l.name === chosen ? "" : l.name)}
          />
        ))}
      </div>
    </div>
  );
}

function Card({ level: l, before, chosen, choose }: { level: Level; before?: Level; chosen: boolean; choose: () => void }) {
  const used = l.limit ? Math.min(1, l.executing / l.limit) : 0;
  const rejected = before ? l.rejected - before.rejected : 0;
  return (
    <article class={"card level" + (chosen ? " chosen" : "") + (rejected > 0 ? " rejects" : "")} data-level={l.name}>
      <h2>
        <button class="link" aria-pressed={chosen} onClick={choose}>
          {l.name}
        </button>
        <span class="note">{l.exempt ? "no limit" : `${l.executing} of ${l.limit} seats`}</span>
      </h2>
      <div class="meter wide" aria-hidden="true" hidden={l.exempt}>
        <i class={used >= 1 ? "bad" : used > 0.7 ? "warn" : ""} style={{ width: used * 100 + "%" }} />
      </div>
      <Picture level={l} />
      <div class="numbers">
        <span>
          <b data-waiting={l.waiting}>{count(l.waiting)}</b> wait
        </span>
        <span>
          <b>{count(l.dispatched)}</b> dispatched
        </span>
        <span class={l.rejected ? "bad" : ""}>
          <b>{count(l.rejected)}</b> rejected
        </span>
        {l.timedOut > 0 && (
          <span class="warn">
            <b>{count(l.timedOut)}</b> timed out
          </span>
        )}
      </div>
    </article>
  );
}

/** The colour of a flow: flows of one schema and one user have one colour. */
const hue = (r: Waiting) => {
  let h = 0;
  for (const c of r.schema + " " + r.distinguisher) h = (h * 31 + c.charCodeAt(0)) % 8;
  return "flow" + h;
};

interface Dot {
  key: string;
  x: number;
  y: number;
  class: string;
  title: string;
}

/** Queues are lanes whose requests move to the right; then come the seats. */
function Picture({ level }: { level: Level }) {
  const gone = useRef(new Map<string, Dot>());
  const waiting = level.requests.filter((r) => !r.executing);
  const executing = level.requests.filter((r) => r.executing);
  const lanesOf = [...new Set(waiting.map((r) => r.queue))].sort((a, b) => a - b);
  const shownLanes = lanesOf.slice(0, lanes);
  const queueWidth = places * dot;
  const dots: Dot[] = [];
  for (const r of waiting) {
    const lane = shownLanes.indexOf(r.queue);
    if (lane < 0 || r.place >= places) continue;
    dots.push({ key: r.key, x: queueWidth - (r.place + 1) * dot, y: lane * dot, class: hue(r), title: `${r.schema} ${r.distinguisher}` });
  }
  const columns = Math.min(mostColumns, Math.ceil((level.exempt ? executing.length : level.limit) / lanes));
  executing.slice(0, lanes * mostColumns).forEach((r, i) => {
    const x = queueWidth + 2 * dot + Math.floor(i / lanes) * dot;
    dots.push({ key: r.key, x, y: (i % lanes) * dot, class: hue(r) + " seat", title: `${r.schema} ${r.distinguisher}` });
  });
  // A request that has ended leaves to the right.
  const now = new Map(dots.map((d) => [d.key, d]));
  const leaving: Dot[] = [];
  for (const [key, d] of gone.current) {
    if (!now.has(key) && d.class.includes("seat")) leaving.push({ ...d, x: d.x + 6 * dot, class: d.class.replace("seat", "left") });
  }
  gone.current = now;
  const hidden = waiting.length - dots.filter((d) => !d.class.includes("seat")).length;
  const words = `${waiting.length} requests wait in ${lanesOf.length} queues, ${executing.length} execute`;
  return (
    <div class="picture" role="img" aria-label={words}>
      <div class="field" style={{ height: lanes * dot + "px" }}>
        <div class="lanes" style={{ width: queueWidth + "px" }}>
          {shownLanes.map((queue, i) => (
            <span key={queue} style={{ top: i * dot + "px" }}>
              {queue}
            </span>
          ))}
          {waiting.length === 0 && <em>{level.queues.length ? `${level.queues.length} queues, empty` : "no queues"}</em>}
        </div>
        <div class="seats" style={{ left: queueWidth + 2 * dot + "px", width: (level.exempt ? 0 : columns * dot) + "px" }} />
        {[...dots, ...leaving].map((d) => (
          <i key={d.key} class={"dotty " + d.class} title={d.title} style={{ transform: `translate(${d.x}px, ${d.y}px)` }} />
        ))}
      </div>
      {hidden > 0 && <span class="note">and {count(hidden)} more wait</span>}
    </div>
  );
}
