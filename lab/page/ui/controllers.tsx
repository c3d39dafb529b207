// Controllers of the server: the queues in which keys wait for them.

import { count, duration } from "./format";
import { useHistory, usePoll } from "./hooks";
import { histogram, labelValues, quantile, readMetrics, sum, type Metrics } from "./metrics";
import { Empty, Problem, Spark } from "./parts";

const remembered = 90;

export function ControllersView() {
  const poll = usePoll((signal) => readMetrics(["workqueue_"], signal), 1000);
  const history = useHistory<Metrics>(poll.value, poll.at, remembered);
  const m = poll.value;
  const names = m ? labelValues(m, "workqueue_adds_total", "name") : [];
  const rows = names.map((name) => {
    const of = (metric: string, at = m!) => sum(at, metric, { name });
    const adds = history.map((h) => of("workqueue_adds_total", h.value));
    const rates = adds.slice(1).map((n, i) => ((n - adds[i]) * 1000) / Math.max(1, history[i + 1].at - history[i].at));
    return {
      name,
      depth: of("workqueue_depth"),
      adds: of("workqueue_adds_total"),
      retries: of("workqueue_retries_total"),
      longest: of("workqueue_longest_running_processor_seconds"),
      depths: history.map((h) => of("workqueue_depth", h.value)),
      rates,
      rate: rates[rates.length - 1] ?? 0,
      waited: histogram(m!, "workqueue_queue_duration_seconds", { name }),
      worked: histogram(m!, "workqueue_work_duration_seconds", { name }),
    };
  });
  rows.sort((a, b) => b.depth - a.depth || b.adds - a.adds || (a.name < b.name ? -1 : 1));
  const p99 = (d: (typeof rows)[number]["waited"]) => {
    const q = quantile(d, 0.99);
    return Number.isFinite(q) ? "≤ " + duration(q * 1e6) : "–";
  };
  return (
    <div class="view">
      <header class="title">
        <h1>Controllers</h1>
        <p>{m ? `${rows.length} queues, ${count(rows.reduce((n, r) => n + r.depth, 0))} keys wait` : "reading"}</p>
      </header>
      <Problem problem={poll.problem} />
      {m && rows.length === 0 && <Empty>This server has no controllers with queues.</Empty>}
      {rows.length > 0 && (
        <div class="wideTable">
          <table class="grid">
            <thead>
              <tr>
                <th>queue</th>
                <th class="number">waiting</th>
                <th />
                <th class="number">keys/s</th>
                <th />
                <th class="number">keys</th>
                <th class="number">retries</th>
                <th class="number">waited, 99 %</th>
                <th class="number">worked, 99 %</th>
                <th class="number">longest now</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((r) => (
                <tr key={r.name}>
                  <td>{r.name}</td>
                  <td class={"number" + (r.depth > 0 ? " strong" : "")}>{count(r.depth)}</td>
                  <td>
                    <Spark values={r.depths} max={5} label={`waiting keys of ${r.name}`} />
                  </td>
                  <td class="number">{r.rate ? r.rate.toFixed(1) : "–"}</td>
                  <td>
                    <Spark values={r.rates} max={5} label={`rate of ${r.name}`} />
                  </td>
                  <td class="number">{count(r.adds)}</td>
                  <td class={"number" + (r.retries ? " warn" : "")}>{count(r.retries)}</td>
                  <td class="number">{p99(r.waited)}</td>
                  <td class="number">{p99(r.worked)}</td>
                  <td class="number">{r.longest > 0.01 ? duration(r.longest * 1e6) : "–"}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}
