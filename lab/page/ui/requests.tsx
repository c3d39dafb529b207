// Requests as they come: the filter, the table, and the way of one request.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Detail } from "./detail";
import { predicate, noFilter, type Filter } from "./filter";
import { count } from "./format";
import { useMedia, useStore, type Route } from "./hooks";
import { Field } from "./parts";
import { StackedPlot, type Series } from "./plot";
import { RequestTable } from "./table";
import { maxRows, store, type Row } from "./store";

/** The filter stays when another view is shown. */
let remembered: Filter = noFilter;

/** Sets the filter of the view and goes there. */
export function showRequests(filter: Partial<Filter>) {
  remembered = { ...noFilter, ...filter };
  if (location.hash === "#/requests") dispatchEvent(new HashChangeEvent("hashchange"));
  location.hash = "#/requests";
  dispatchEvent(new Event("lab-filter"));
}

export const requestRoute = (name: string) => "#/requests/" + encodeURIComponent(name);

const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

export function RequestsView({ route }: { route: Route }) {
  const [filter, setFilter] = useState(remembered);
  const [frozen, setFrozen] = useState<Row[] | null>(null);
  const [more, setMore] = useState(false);
  const search = useRef<HTMLInputElement>(null);
  const narrow = useMedia("(max-width: 720px)");
  useStore();

  const change = (part: Partial<Filter>) => setFilter((f) => (remembered = { ...f, ...part }));
  const selected = route.rest[0] ?? "";
  const select = (name: string) => {
    const to = name ? requestRoute(name) : "#/requests";
    history.replaceState(null, "", to);
    dispatchEvent(new HashChangeEvent("hashchange"));
  };

  useEffect(() => {
    const onFilter = () => setFilter(remembered);
    addEventListener("lab-filter", onFilter);
    return () => removeEventListener("lab-filter", onFilter);
  }, []);

  const all = frozen ?? store.rows;
  const keep = useMemo(() => predicate(filter), [filter]);
  const rows = keep ? all.filter(keep) : all;
  const pause = () => setFrozen((f) => (f ? null : store.rows.slice()));

  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      const inField = e.target instanceof Element && e.target.matches("input, select, textarea");
      if (e.key === "Escape") {
        if (inField) (e.target as HTMLElement).blur();
        else if (selected) select("");
        else return;
      } else if (inField) return;
      else if (e.key === "/") search.current?.focus();
      else if (e.key === "p") pause();
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [selected]);

  const isFiltered = Boolean(keep);
  const open = selected !== "";
  return (
    <div class={"requests" + (open ? " open" : "")}>
      <div class="browse" inert={open && narrow}>
        <header class={"bar" + (more ? " all" : "")}>
          <label class="field search">
            <span>Search</span>
            <input
              ref={search}
              type="search"
              placeholder="words, -without   ( / )"
              value={filter.text}
              onInput={(e) => change({ text: e.currentTarget.value })}
              spellcheck={false}
            />
          </label>
          <label class="field extra">
            <span>Verb</span>
            <select value={filter.verb} onChange={(e) => change({ verb: e.currentTarget.value })}>
              <option value="">all</option>
              <option value="writes">writes</option>
              {verbs.map((v) => (
                <option key={v}>{v}</option>
              ))}
            </select>
          </label>
          <Field class="extra" label="User" value={filter.user} set={(user) => change({ user })} suggest={distinct((r) => r.user)} />
          <Field
            class="extra"
            label="Resource"
            value={filter.resource}
            set={(resource) => change({ resource })}
            suggest={distinct((r) => r.resource)}
          />
          <Field
            class="extra"
            label="Namespace"
            value={filter.namespace}
            set={(namespace) => change({ namespace })}
            suggest={distinct((r) => r.namespace)}
          />
          <label class="field extra">
            <span>Slower than</span>
            <select value={String(filter.slow)} onChange={(e) => change({ slow: Number(e.currentTarget.value) })}>
              <option value="0">any</option>
              {[1, 10, 100, 1000].map((ms) => (
                <option key={ms} value={String(ms * 1000)}>
                  {ms < 1000 ? ms + " ms" : "1 s"}
                </option>
              ))}
            </select>
          </label>
          <Classes chosen={filter.classes} set={(classes) => change({ classes })} />
          <span class="grow" />
          <button onClick={pause} aria-pressed={Boolean(frozen)} title="Key p">
            {frozen ? "Go on" : "Pause"}
          </button>
          <button class="more" onClick={() => setMore(!more)} aria-expanded={more}>
            {more ? "less" : "more"}
          </button>
          <label class="check extra" title="The page reads the API as well">
            <input type="checkbox" checked={store.own} onChange={(e) => store.showOwn(e.currentTarget.checked)} /> own
          </label>
        </header>
        <Rates />
        <Status shown={rows.length} total={all.length} filtered={isFiltered} frozen={Boolean(frozen)} clear={() => change(noFilter)} />
        <RequestTable rows={rows} selected={selected} select={select} narrow={narrow} live={!frozen} />
      </div>
      {open && <Detail name={selected} close={() => select("")} />}
    </div>
  );
}

/** The values of a column in the newest rows. */
function distinct(of: (row: Row) => string): string[] {
  const found = new Set<string>();
  for (let i = store.rows.length - 1; i >= 0 && i > store.rows.length - 500; i--) {
    const value = of(store.rows[i]);
    if (value) found.add(value);
  }
  return [...found].sort();
}

function Classes({ chosen, set }: { chosen: number[]; set: (classes: number[]) => void }) {
  const toggle = (c: number) => set(chosen.includes(c) ? chosen.filter((x) => x !== c) : [...chosen, c]);
  return (
    <fieldset class="chips" aria-label="Code">
      {[2, 3, 4, 5, 0].map((c) => (
        <button key={c} class={"chip c" + c} aria-pressed={chosen.includes(c)} onClick={() => toggle(c)}>
          {c ? c + "xx" : "running"}
        </button>
      ))}
    </fieldset>
  );
}

function Status(p: { shown: number; total: number; filtered: boolean; frozen: boolean; clear: () => void }) {
  const { state } = store;
  const words = {
    listing: "reading what the server has",
    live: "live",
    waiting: `no connection: ${state.problem?.message ?? ""}`,
  };
  const missing = (state.problem as { code?: number })?.code === 404;
  return (
    <p class="status" role="status">
      <span class={"dot " + (p.frozen ? "paused" : state.kind)} />
      {p.frozen ? "paused" : missing ? "this server runs without --lab" : words[state.kind]}
      <span class="numbers" data-rows={p.total}>
        {p.filtered ? `${count(p.shown)} of ${count(p.total)}` : count(p.total)} requests
        {p.total >= maxRows && " (the newest)"}
      </span>
      {store.dropped > 0 && <span class="warning">{count(store.dropped)} came too fast to be shown</span>}
      {p.filtered && (
        <button class="link" onClick={p.clear}>
          clear the filter
        </button>
      )}
    </p>
  );
}

const series: Series[] = [
  { label: "5xx, 429", colour: "bad" },
  { label: "4xx", colour: "warn" },
  { label: "ok", colour: "calm" },
];
const span = 120;

/** Requests per second of the last two minutes. */
function Rates() {
  const [now, setNow] = useState(() => Math.floor(Date.now() / 1000));
  useEffect(() => {
    const timer = setInterval(() => setNow(Math.floor(Date.now() / 1000)), 1000);
    return () => clearInterval(timer);
  }, []);
  const [times, values] = useMemo(() => {
    const times = Array.from({ length: span }, (_, i) => now - span + i);
    const of = (key: "ok" | "refused" | "failed") => times.map((t) => store.seconds.get(t)?.[key] ?? 0);
    return [times, [of("failed"), of("refused"), of("ok")]];
  }, [now, store.rows.length > 0]);
  const last = values.reduce((sum, v) => sum + v[span - 1], 0);
  return (
    <div class="rates">
      <StackedPlot series={series} times={times} values={values} height={72} label={`${last} requests in the last second`} />
      <div class="rate">
        <b>{count(last)}</b>
        <span>requests/s</span>
        {series
          .slice()
          .reverse()
          .map((s) => (
            <span key={s.label} class="key">
              <i class={"swatch " + s.colour} /> {s.label}
            </span>
          ))}
      </div>
    </div>
  );
}
