// Admission webhooks and policies: what they select, how long they take, what they reject.

import { APIError, getJSON } from "./api";
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
  const list = async (resource: string) => {
    try {
      return (await getJSON<List<KubeObject>>(group + resource, signal)).items ?? [];
    } catch (e) {
      if (e instanceof APIError && e.code === 404) return []; // of a release that does not serve them yet
      throw e;
    }
  };
  const [mutating, validating, mutatingPolicies, mutatingBindings, validatingPolicies, validatingBindings, metrics] = await Promise.all([
    list("mutatingwebhookconfigurations"),
    list("validatingwebhookconfigurations"),
    list("mutatingadmissionpolicies"),
    list("mutatingadmissionpolicybindings"),
    list("validatingadmissionpolicies"),
    list("validatingadmissionpolicybindings"),
    readMetrics([prefix, "apiserver_validating_admission_policy", "apiserver_mutating_admission_policy"], signal),
  ]);
  const of = (type: string, metricType: string, configurations: KubeObject[]) =>
    configurations.flatMap((c) =>
      ((c.webhooks as Webhook[]) ?? []).map((w) => ({ type, metricType, configuration: c.metadata.name, ...w })),
    );
  return {
    webhooks: [...of("mutating", "admit", mutating), ...of("validating", "validating", validating)],
    mutating: { policies: mutatingPolicies, bindings: mutatingBindings },
    validating: { policies: validatingPolicies, bindings: validatingBindings },
    metrics,
  };
}

// What the specs of both kinds of policies and of their bindings have.
interface PolicySpec {
  matchConstraints?: { resourceRules?: Rule[] };
  validations?: { expression: string }[];
  mutations?: { applyConfiguration?: { expression: string }; jsonPatch?: { expression: string } }[];
}

interface BindingSpec {
  policyName: string;
  validationActions?: string[];
}

const expressions = (spec: PolicySpec) => [
  ...(spec.mutations ?? []).map((m) => m.applyConfiguration?.expression ?? m.jsonPatch?.expression ?? ""),
  ...(spec.validations ?? []).map((v) => v.expression),
];

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
        <p>in the order of their calls: mutating policies and webhooks, validating policies and webhooks</p>
      </header>
      <Problem problem={problem} />
      {value && value.webhooks.length === 0 && <Empty>There are no webhooks.</Empty>}
      <div class="cards">
        {value?.webhooks.map((w) => (
          <Card key={w.type + w.configuration + w.name} webhook={w} metrics={value.metrics} />
        ))}
      </div>
      {value && <Policies type="mutating" {...value.mutating} metrics={value.metrics} />}
      {value && <Policies type="validating" {...value.validating} metrics={value.metrics} />}
    </div>
  );
}

type Metrics = Awaited<ReturnType<typeof read>>["metrics"];

function Policies(props: { type: "mutating" | "validating"; policies: KubeObject[]; bindings: KubeObject[]; metrics: Metrics }) {
  const { type, policies, bindings, metrics } = props;
  if (policies.length === 0) return null;
  const metric = `apiserver_${type}_admission_policy_check_total`;
  return (
    <table class="grid">
      <caption>{type === "mutating" ? "Mutating policies" : "Validating policies"}</caption>
      <thead>
        <tr>
          <th>policy</th>
          <th>selects</th>
          <th>expressions</th>
          <th>bindings</th>
          <th class="number">checks</th>
          {type === "validating" && <th class="number">denied</th>}
        </tr>
      </thead>
      <tbody>
        {policies.map((p) => {
          const spec = p.spec as PolicySpec;
          const name = p.metadata.name;
          const bound = bindings.filter((b) => (b.spec as BindingSpec).policyName === name);
          const actions = (b: KubeObject) => ((b.spec as BindingSpec).validationActions ?? []).join(", ");
          return (
            <tr key={name}>
              <td>{name}</td>
              <td>{rules(spec.matchConstraints?.resourceRules).join("; ")}</td>
              <td>
                {expressions(spec).map((e) => (
                  <code key={e} class="block">
                    {e}
                  </code>
                ))}
              </td>
              <td>{bound.map((b) => b.metadata.name + (actions(b) && ` (${actions(b)})`)).join(", ") || "none"}</td>
              <td class="number">{count(sum(metrics, metric, { policy: name }))}</td>
              {type === "validating" && (
                <td class="number">{count(sum(metrics, metric, { policy: name, enforcement_action: "deny" }))}</td>
              )}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

type Shown = Awaited<ReturnType<typeof read>>["webhooks"][number];

function Card({ webhook: w, metrics }: { webhook: Shown; metrics: Metrics }) {
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
