// The table of requests, the newest first. Only the rows that can be seen are in the document.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { agentName, clock, duration, userName } from "./format";
import { Code } from "./parts";
import { writes } from "./filter";
import type { Row } from "./store";

const columns = ["Time", "User", "Agent", "Verb", "Resource", "Object", "Code", "Took", "Why"];
const beyond = 6;

/** The height in which rows are seen: the head stays at the top. */
const seen = (box: HTMLElement) => box.clientHeight - ((box.firstElementChild as HTMLElement)?.offsetHeight ?? 0);

interface Props {
  /** The oldest first. */
  rows: Row[];
  selected: string;
  select: (name: string) => void;
  narrow: boolean;
  live: boolean;
}

export function RequestTable({ rows, selected, select, narrow }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const [cursor, setCursor] = useState(selected);
  const anchor = useRef<{ name: string; offset: number } | null>(null);
  const height = narrow ? 46 : 24;
  const total = rows.length;
  const at = (i: number) => rows[total - 1 - i];
  const indexOf = (name: string) => {
    for (let i = total - 1; i >= 0; i--) if (rows[i].name === name) return total - 1 - i;
    return -1;
  };

  useEffect(() => {
    if (selected) setCursor(selected);
  }, [selected]);
  useEffect(() => {
    const element = box.current!;
    const observer = new ResizeObserver(() => setView((v) => ({ ...v, height: seen(element) })));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  // New rows come at the top. What a person reads stays where it is.
  useLayoutEffect(() => {
    const kept = anchor.current;
    if (!kept) return;
    const index = indexOf(kept.name);
    if (index < 0) return;
    const top = Math.max(0, index * height - kept.offset);
    if (Math.abs(top - box.current!.scrollTop) < 1) return;
    box.current!.scrollTop = top;
    // The rows at the new place are drawn in the same frame. The event of scrolling comes after it.
    setView((v) => ({ ...v, top: box.current!.scrollTop }));
  });

  const keep = () => {
    const element = box.current!;
    const top = element.scrollTop;
    setView({ top, height: seen(element) });
    const index = cursor ? indexOf(cursor) : -1;
    const isCursorSeen = index >= 0 && index * height >= top - height && index * height < top + seen(element);
    const from = isCursorSeen ? index : top > 0 ? Math.floor(top / height) : -1;
    anchor.current = from >= 0 && at(from) ? { name: at(from).name, offset: from * height - top } : null;
  };
  useEffect(keep, [cursor, narrow]);

  const go = (index: number) => {
    const row = at(Math.max(0, Math.min(total - 1, index)));
    if (!row) return;
    const place = indexOf(row.name) * height;
    const element = box.current!;
    anchor.current = null;
    if (place < element.scrollTop) element.scrollTop = place;
    else if (place + height > element.scrollTop + seen(element)) element.scrollTop = place + height - seen(element);
    setCursor(row.name);
    if (selected) select(row.name);
  };

  const onKey = (e: KeyboardEvent) => {
    const target = e.target as Element;
    if (e.ctrlKey || e.metaKey || e.altKey || target.matches("input, select, textarea, .detail *, dialog *")) return;
    const index = cursor ? indexOf(cursor) : -1;
    const page = Math.max(1, Math.floor(view.height / height) - 1);
    const moves: Record<string, number> = {
      j: index + 1,
      ArrowDown: index + 1,
      k: index - 1,
      ArrowUp: index - 1,
      PageDown: index + page,
      PageUp: index - page,
      Home: 0,
      End: total - 1,
    };
    if (e.key in moves) go(moves[e.key]);
    else if (e.key === "Enter" && index >= 0 && !target.matches("button, a")) select(cursor);
    else return;
    e.preventDefault();
  };
  const onKeyNow = useRef(onKey);
  onKeyNow.current = onKey;
  useEffect(() => {
    const listen = (e: KeyboardEvent) => onKeyNow.current(e);
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);

  const first = Math.max(0, Math.floor(view.top / height) - beyond);
  const last = Math.min(total, Math.ceil((view.top + view.height) / height) + beyond);
  const shown = [];
  // An element shows another row after each change, which costs less than another element.
  const pool = Math.ceil(view.height / height) + 2 * beyond + 2;
  for (let i = first; i < last; i++) {
    const row = at(i);
    shown.push(
      <Line
        key={i % pool}
        row={row}
        index={i}
        top={i * height}
        isCurrent={row.name === cursor}
        open={() => (setCursor(row.name), select(row.name))}
      />,
    );
  }
  return (
    <div
      class="table"
      role="grid"
      aria-label="Requests"
      aria-rowcount={total + 1}
      aria-activedescendant={cursor ? "r-" + cursor : undefined}
      tabIndex={0}
    >
      <div class="scroll" ref={box} onScroll={keep} role="presentation">
        <div class="line head" role="row" aria-rowindex={1}>
          {columns.map((c) => (
            <span key={c} role="columnheader" class={c === "Code" ? "codecell" : c.toLowerCase()}>
              {c}
            </span>
          ))}
        </div>
        <div class="canvas" style={{ height: total * height + "px" }} role="presentation">
          {shown}
        </div>
        {total === 0 && <p class="empty">No requests yet.</p>}
      </div>
    </div>
  );
}

const verbClass = (verb: string) =>
  verb.startsWith("delete") ? "verb deletes" : writes.includes(verb) || verb === "post" ? "verb writes" : "verb";

function Line({ row, index, top, isCurrent, open }: { row: Row; index: number; top: number; isCurrent: boolean; open: () => void }) {
  const object = [row.namespace, row.object].filter(Boolean).join("/");
  return (
    <div
      id={"r-" + row.name}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isCurrent}
      class={"line" + (isCurrent ? " current" : "") + (row.code >= 400 ? " refusal" : "")}
      style={{ transform: `translateY(${top}px)` }}
      onClick={open}
    >
      <span role="gridcell" class="time">
        {clock(row.time)}
      </span>
      <span role="gridcell" class="user" title={row.user}>
        {userName(row.user) || "–"}
      </span>
      <span role="gridcell" class="agent" title={row.agent}>
        {agentName(row.agent)}
      </span>
      <span role="gridcell" class={verbClass(row.verb)}>
        {row.verb}
      </span>
      <span role="gridcell" class="resource" title={row.uri}>
        {row.resource || row.uri}
      </span>
      <span role="gridcell" class="object" title={object}>
        {object}
      </span>
      <span role="gridcell" class="codecell">
        <Code code={row.code} running={row.running} />
      </span>
      <span role="gridcell" class={"took" + (row.microseconds >= 1e5 && !row.running ? " slow" : "")}>
        {row.running ? "" : duration(row.microseconds)}
      </span>
      <span role="gridcell" class="why" title={row.why}>
        {row.why}
      </span>
    </div>
  );
}
