// Admission webhooks and policies: what they select, how long they take, what they reject.

import { getJSON } from "./api";
import { count, duration } from "./format";
import { usePoll } from "./hooks";
import { bars, histogram, quantile, readMetrics, sum } from "./metrics";
import { Empty, Problem } from "./parts";
import type { KubeObject, List } from "./types";

interface Rule {
  apiGroups?: string[];
  resources?: string[];
  operations?: string[];
}

interface Webhook {
  name: string;
  rules?: Rule[];
  failurePolicy?: string;
  timeoutSeconds?: number;
  clientConfig: { url?: string; service?: { namespace: string; name: string; path?: string } };
}

const group = "/apis/admissionregistration.k8s.io/v1/";
const prefix = "apiserver_admission_webhook_";

async function read(signal: AbortSignal) {
  const list = async (resource: string) => (await getJSON<List<KubeObject>>(group + resource, signal)).items ?? [];
  const [mutating, validating, policies, bindings, metrics] = await Promise.all([
    list("mutatingwebhookconfigurations"),
    list("validatingwebhookconfigurations"),
    list("validatingadmissionpolicies"),
    list("validatingadmissionpolicybindings"),
    readMetrics([prefix, "apiserver_validating_admission_policy"], signal),
  ]);
  const of = (type: string, metricType: string, configurations: KubeObject[]) =>
    configurations.flatMap((c) =>
      ((c.webhooks as Webhook[]) ?? []).map((w) => ({ type, metricType, configuration: c.metadata.name, ...w })),
    );
  return {
    webhooks: [...of("mutating", "admit", mutating), ...of("validating", "validating", validating)],
    policies,
    bindings,
    metrics,
  };
}

const rules = (list: Rule[] = []) =>
  list.map((r) => {
    const resources = (r.resources ?? []).map((n) => ((r.apiGroups ?? [""])[0] ? `${n}.${r.apiGroups![0]}` : n)).join(", ");
    return `${(r.operations ?? []).join(", ").toLowerCase()} ${resources}`;
  });

export function WebhooksView() {
  const { value, problem } = usePoll(read, 2000);
  return (
    <div class="view">
      <header class="title">
        <h1>Webhooks and policies</h1>
        <p>in the order of their calls: mutating webhooks, policies, validating webhooks</p>
      </header>
      <Problem problem={problem} />
      {value && value.webhooks.length === 0 && <Empty>There are no webhooks.</Empty>}
      <div class="cards">
        {value?.webhooks.map((w) => (
          <Card key={w.type + w.configuration + w.name} webhook={w} metrics={value.metrics} />
        ))}
      </div>
      {value && value.policies.length > 0 && (
        <table class="grid">
          <caption>Policies</caption>
          <thead>
            <tr>
              <th>policy</th>
              <th>selects</th>
              <th>expressions</th>
              <th>bindings</th>
              <th class="number">checks</th>
              <th class="number">denied</th>
            </tr>
          </thead>
          <tbody>
            {value.policies.map((p) => {
              const spec = p.spec as { matchConstraints?: { resourceRules?: Rule[] }; validations?: { expression: string }[] };
              const name = p.metadata.name;
              const metric = "apiserver_validating_admission_policy_check_total";
              const bound = value.bindings.filter((b) => (b.spec as { policyName: string }).policyName === name);
              return (
                <tr key={name}>
                  <td>{name}</td>
                  <td>{rules(spec.matchConstraints?.resourceRules).join("; ")}</td>
                  <td>
                    {spec.validations?.map((v) => (
                      <code key={v.expression} class="block">
                        {v.expression}
                      </code>
                    ))}
                  </td>
                  <td>
                    {bound
                      .map(
                        (b) => `${b.metadata.name} (${((b.spec as { validationActions?: string[] }).validationActions ?? []).join(", ")})`,
                      )
                      .join(", ") || "none"}
                  </td>
                  <td class="number">{count(sum(value.metrics, metric, { policy: name }))}</td>
                  <td class="number">{count(sum(value.metrics, metric, { policy: name, enforcement_action: "deny" }))}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </div>
  );
}

type Shown = Awaited<ReturnType<typeof read>>["webhooks"][number];

function Card({ webhook: w, metrics }: { webhook: Shown; metrics: Awaited<ReturnType<typeof read>>["metrics"] }) {
  const took = histogram(metrics, prefix + "admission_duration_seconds", { name: w.name, type: w.metricType });
  const rejected = sum(metrics, prefix + "rejection_count", { name: w.name, type: w.metricType });
  const ignored = sum(metrics, prefix + "fail_open_count", { name: w.name, type: w.metricType });
  const heights = bars(took);
  const top = Math.max(1, ...heights);
  const p99 = quantile(took, 0.99);
  const service = w.clientConfig.service;
  return (
    <article class="card">
      <h2>
        {w.name} <span class="by">{w.type}</span>
      </h2>
      <p class="note">
        {w.configuration}, calls {service ? `service ${service.namespace}/${service.name}${service.path ?? ""}` : w.clientConfig.url}
      </p>
      <p>
        {rules(w.rules).map((r) => (
          <code key={r} class="block">
            {r}
          </code>
        ))}
      </p>
      <div class="numbers big">
        <span>
          <b>{count(took.count)}</b> calls
        </span>
        <span>
          <b>{took.count ? duration((took.sum / took.count) * 1e6) : "–"}</b> mean
        </span>
        <span>
          <b>{Number.isFinite(p99) ? "≤ " + duration(p99 * 1e6) : took.count ? "> 10 s" : "–"}</b> for 99 %
        </span>
        <span class={rejected ? "bad" : ""}>
          <b>{count(rejected)}</b> rejected
        </span>
        {ignored > 0 && (
          <span class="warn">
            <b>{count(ignored)}</b> failures ignored
          </span>
        )}
      </div>
      <div class="histogram" role="img" aria-label="How long the calls took">
        {took.buckets.map(([bound], i) => (
          <i key={bound} title={`${count(heights[i])} up to ${Number.isFinite(bound) ? duration(bound * 1e6) : "any time"}`}>
            <u style={{ height: (heights[i] / top) * 100 + "%" }} />
            <span>{Number.isFinite(bound) ? duration(bound * 1e6).replace(" ", "") : "more"}</span>
          </i>
        ))}
      </div>
      <p class="note">
        failure policy {w.failurePolicy ?? "Fail"}, timeout {w.timeoutSeconds ?? 10} s
      </p>
    </article>
  );
}
