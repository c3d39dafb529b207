// Small components that several views use.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { codeClass } from "./format";
import type { FieldChange } from "./types";

export const Code = ({ code, running }: { code: number; running?: boolean }) => (
  <span class={"code " + codeClass(code, running)}>{running ? (code ? code + "…" : "…") : code || "–"}</span>
);

export const Problem = ({ problem }: { problem?: Error }) =>
  problem ? (
    <p class="problem" role="alert">
      {problem.message}
    </p>
  ) : null;

export const Empty = ({ children }: { children: ComponentChildren }) => <p class="empty">{children}</p>;

export function Facts({ facts }: { facts: [string, ComponentChildren][] }) {
  const known = facts.filter(([, v]) => v !== undefined && v !== "" && v !== null && v !== false);
  return (
    <dl class="facts">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Section({ title, note, children }: { title: string; note?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="section">
      <h3>
        {title}
        {note !== undefined && <span class="note">{note}</span>}
      </h3>
      {children}
    </section>
  );
}

/** A value as it was and as it is. */
export function Values({ change }: { change: FieldChange }) {
  return (
    <span class="values">
      {change.before && <del>{short(change.before)}</del>}
      {change.before && change.after && <span aria-hidden="true"> → </span>}
      {change.after && <ins>{short(change.after)}</ins>}
      {!change.before && !change.after && <i>removed</i>}
    </span>
  );
}

const short = (text: string) => (text.length > 400 ? text.slice(0, 400) + "…" : text);

export function Fields({ fields, by }: { fields: FieldChange[]; by?: boolean }) {
  const [all, setAll] = useState(false);
  const shown = all ? fields : fields.slice(0, 20);
  return (
    <ul class="fields">
      {shown.map((f, i) => (
        <li key={i}>
          <code class="path">{f.path}</code> <Values change={f} />
          {by && f.by && <span class="by">{f.by}</span>}
        </li>
      ))}
      {shown.length < fields.length && (
        <li>
          <button class="link" onClick={() => setAll(true)}>
            {fields.length - shown.length} more
          </button>
        </li>
      )}
    </ul>
  );
}

/** A field with suggestions. It tells of its value when the user has paused or left. */
export function Field(p: {
  label: string;
  value: string;
  set: (value: string) => void;
  suggest?: string[];
  placeholder?: string;
  class?: string;
  delay?: number;
}) {
  const id = useRef("f" + Math.random().toString(36).slice(2));
  const timer = useRef(0);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (field.current && document.activeElement !== field.current) field.current.value = p.value;
  }, [p.value]);
  const input = (e: Event) => {
    const value = (e.target as HTMLInputElement).value;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => p.set(value), p.delay ?? 150);
  };
  const change = (e: Event) => {
    clearTimeout(timer.current);
    p.set((e.target as HTMLInputElement).value);
  };
  return (
    <label class={"field " + (p.class ?? "")}>
      <span>{p.label}</span>
      <input
        ref={field}
        defaultValue={p.value}
        list={p.suggest ? id.current : undefined}
        placeholder={p.placeholder}
        onInput={input}
        onChange={change}
        onKeyDown={(e) => e.key === "Escape" && (e.stopPropagation(), field.current?.blur())}
        autoComplete="off"
        spellcheck={false}
      />
      {p.suggest && (
        <datalist id={id.current}>
          {p.suggest.slice(0, 200).map((s) => (
            <option key={s} value={s} />
          ))}
        </datalist>
      )}
    </label>
  );
}

/** A line of the last values. */
export function Spark({
  values,
  max,
  width = 120,
  height = 24,
  label,
}: {
  values: number[];
  max?: number;
  width?: number;
  height?: number;
  label: string;
}) {
  const top = Math.max(max ?? 0, ...values, 1e-9);
  const points = values.map((v, i) => {
    const x = (i / Math.max(1, values.length - 1)) * (width - 2) + 1;
    return `${x.toFixed(1)},${(height - 2 - (v / top) * (height - 4)).toFixed(1)}`;
  });
  return (
    <svg class="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      {points.length > 1 && <polygon points={`1,${height} ${points.join(" ")} ${width - 1},${height}`} />}
      {points.length > 1 && <polyline points={points.join(" ")} />}
    </svg>
  );
}
