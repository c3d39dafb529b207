// The steps of a request, as bars over its time.

import { duration } from "./format";
import type { Step } from "./types";

/** What a step is for, as its colour. */
const kinds: [RegExp, string][] = [
  [/authenticat|impersonat/, "k-who"],
  [/authoriz/, "k-may"],
  [/flow|priority|queue/, "k-wait"],
  [/webhook/, "k-hook"],
  [/admission|polic|quota/, "k-admit"],
  [/transaction|storage|etcd|store|allocat/, "k-store"],
  [/decod|encod|response|answer|convert|conversion|serializ|body/, "k-code"],
  [/default|validat|field|prun/, "k-rule"],
];

const kindOf = (name: string) => {
  const last = name.toLowerCase();
  return kinds.find(([words]) => words.test(last))?.[1] ?? "k-other";
};

interface Line {
  step: Step;
  label: string;
  depth: number;
}

/** The steps with their depth: a step whose name begins with that of another one is within it. */
export function nest(steps: Step[]): Line[] {
  const names = new Set(steps.map((s) => s.name));
  return steps.map((step) => {
    const parts = step.name.split("/");
    let depth = 0;
    let label = step.name;
    for (let i = 1; i < parts.length; i++) {
      if (!names.has(parts.slice(0, i).join("/"))) continue;
      depth++;
      label = parts.slice(i).join("/");
    }
    return { step, label, depth };
  });
}

export function Waterfall(p: { steps: Step[]; total: number; running: boolean; watch: boolean }) {
  const end = Math.max(1, ...p.steps.map((s) => s.start + (s.microseconds ?? 0)));
  // A watch is served for long after its steps.
  const total = p.watch || p.running ? end : Math.max(end, p.total);
  const percent = (n: number) => ((n / total) * 100).toFixed(2) + "%";
  return (
    <div class="waterfall" role="table" aria-label={`Steps of the request, ${duration(total)} in all`}>
      <div class="scale" aria-hidden="true">
        <span />
        <div class="ticks">
          {[0, 0.25, 0.5, 0.75, 1].map((t) => (
            <i key={t} style={{ left: t * 100 + "%" }}>
              {t ? duration(t * total) : "0"}
            </i>
          ))}
        </div>
        <span />
      </div>
      {nest(p.steps).map(({ step, label, depth }, i) => {
        const took = step.microseconds ?? 0;
        const facts = Object.entries(step.facts ?? {});
        return (
          <div class="step" role="row" key={i}>
            <span class="name" role="cell" style={{ paddingLeft: depth * 12 + "px" }} title={step.name}>
              {label}
            </span>
            <span class="track" role="cell" aria-label={`begins after ${duration(step.start)}`}>
              <i
                class={(took ? "piece " : "event ") + kindOf(step.name)}
                style={{ left: percent(step.start), width: took ? `max(2px, ${percent(took)})` : undefined }}
              />
            </span>
            <span class="took" role="cell">
              {took ? duration(took) : ""}
            </span>
            {facts.length > 0 && (
              <span class="found" role="cell" style={{ paddingLeft: depth * 12 + 8 + "px" }}>
                {facts.map(([name, value]) => (
                  <span class="fact" key={name}>
                    <b>{name}</b> {value}
                  </span>
                ))}
              </span>
            )}
          </div>
        );
      })}
    </div>
  );
}
