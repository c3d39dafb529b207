// The way of a request: its steps with their times, what they found, what they changed, and what refused it.

import { useEffect, useRef, useState } from "preact/hooks";
import { getJSON } from "./api";
import { Refusal } from "./cause";
import { bytes, clock, codeClass, duration, objectRoute } from "./format";
import { Code, Empty, Facts, Fields, Problem, Section } from "./parts";
import { showRequests } from "./requests";
import { decode, requestsPath, store } from "./store";
import type { LabRequest } from "./types";
import { Waterfall } from "./waterfall";

/**
 * The request of a name. The rows of the page have what a list shows; what the server finds out for a single request,
 * such as the changes on the way, it is asked for.
 */
function useRequest(name: string): { request?: LabRequest; problem?: Error } {
  const row = store.find(name);
  const [read, setRead] = useState<{ name: string; request?: LabRequest; problem?: Error }>({ name: "" });
  useEffect(() => {
    const stop = new AbortController();
    getJSON<LabRequest>(`${requestsPath}/${encodeURIComponent(name)}`, stop.signal).then(
      (request) => setRead({ name, request }),
      (problem) => !stop.signal.aborted && setRead({ name, problem }),
    );
    return () => stop.abort();
  }, [name, row?.source]);
  const decoded = useRef<{ source?: unknown; request?: LabRequest }>({});
  if (read.name === name && read.request) return read;
  if (!row) return read.name === name ? read : {};
  // The server may have forgotten what the page still has.
  if (decoded.current.source !== row.source) decoded.current = { source: row.source, request: decode(row) };
  return { request: decoded.current.request };
}

export function Detail({ name, close }: { name: string; close: () => void }) {
  const { request, problem } = useRequest(name);
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    box.current?.scrollTo(0, 0);
  }, [name]);
  return (
    <aside class="detail" ref={box} aria-label="The way of the request" tabIndex={-1}>
      <button class="close quiet" onClick={close} aria-label="Close" title="Esc">
        ✕
      </button>
      {problem && (problem as { code?: number }).code === 404 ? (
        <Empty>The server does not keep this request any more.</Empty>
      ) : (
        <Problem problem={problem} />
      )}
      {request && <Way request={request} />}
    </aside>
  );
}

function Way({ request }: { request: LabRequest }) {
  const { spec, status } = request;
  const running = status.phase !== "Complete";
  const resource = spec.resource ? (spec.group ? `${spec.resource.split("/")[0]}.${spec.group}` : spec.resource) : "";
  return (
    <>
      <header class={"headline " + codeClass(status.code ?? 0, running)}>
        <h2>
          <span class="verb">{spec.verb}</span> {spec.resource || spec.uri}{" "}
          {spec.objectName && <b>{[spec.namespace, spec.objectName].filter(Boolean).join("/")}</b>}
          {!spec.objectName && spec.namespace && <b>{spec.namespace}</b>}
        </h2>
        <p>
          <Code code={status.code ?? 0} running={running} /> {status.reason}{" "}
          {running ? "running" : status.took || duration(status.microseconds ?? 0)}
          {spec.dryRun && <span class="by">dry run</span>}
        </p>
        {status.why && <p class="why">{status.why}</p>}
        {status.message && !status.why?.includes(status.message) && <p class="message">{status.message}</p>}
        <p class="links">
          {spec.objectName && resource && <a href={objectRoute(resource, spec.namespace ?? "", spec.objectName)}>the object</a>}
          {spec.user && (
            <button class="link" onClick={() => showRequests({ user: spec.user })}>
              requests of this user
            </button>
          )}
          {spec.objectName && (
            <button class="link" onClick={() => showRequests({ text: spec.objectName!, resource: resource.split("/")[0] })}>
              requests for this object
            </button>
          )}
        </p>
      </header>
      {status.cause && <Refusal cause={status.cause} user={spec.user ?? ""} groups={spec.groups ?? []} />}
      {status.warnings?.length ? (
        <Section title="Warnings">
          <ul class="plain">
            {status.warnings.map((w) => (
              <li key={w}>{w}</li>
            ))}
          </ul>
        </Section>
      ) : null}
      {status.steps?.length ? (
        <Section title="Way" note="where the time went">
          <Waterfall steps={status.steps} total={status.microseconds ?? 0} running={running} watch={spec.verb === "watch"} />
        </Section>
      ) : null}
      {status.hidden && <Empty>{status.hidden}</Empty>}
      {status.changes?.length ? (
        <Section title="Changed on the way" note={`${status.changes.length} fields`}>
          <Fields fields={status.changes} by />
        </Section>
      ) : null}
      {status.watch && (
        <Section title="Watch">
          <Facts
            facts={[
              ["events", status.watch.events],
              ["bookmarks", status.watch.bookmarks],
              ["lag", status.watch.lag],
              ["ended", status.watch.ended],
            ]}
          />
        </Section>
      )}
      <Section title="Request">
        <Facts
          facts={[
            ["arrived", clock(Date.parse(spec.time))],
            ["user", spec.user],
            ["impersonated by", spec.impersonator],
            ["groups", spec.groups?.join(", ")],
            ["from", spec.sourceIP],
            ["agent", spec.userAgent],
            ["sent", <code class="path">{spec.method + " " + spec.uri}</code>],
            ["field manager", spec.fieldManager],
            ["body", spec.bodyBytes ? `${bytes(spec.bodyBytes)} ${spec.contentType ?? ""}` : undefined],
            ["digest", spec.bodyDigest],
            ["answer", status.responseBytes ? bytes(status.responseBytes) : undefined],
            ["stored as", status.stored?.resourceVersion && `resourceVersion ${status.stored.resourceVersion}`],
            ["written again", status.stored?.retries ? `${status.stored.retries} times, because other writes came first` : undefined],
            ["audit ID", <code class="path">{request.metadata.name}</code>],
          ]}
        />
      </Section>
    </>
  );
}
