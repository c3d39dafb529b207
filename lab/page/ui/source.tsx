// The YAML of an object, with the author of each line.

import { useMemo, useState } from "preact/hooks";
import { Blame, type Author } from "./blame";
import { age, userName } from "./format";
import { Section } from "./parts";
import { requestRoute } from "./requests";
import type { Change, KubeObject } from "./types";
import { toLines } from "./yaml";

/** Who a line is of, for the colour at its side and to say it once for lines that follow each other. */
const identity = (a: Author) => [a.manager, a.user, a.request ?? a.time].join("\n");

const server = "the server";

const shade = (a: Author) => {
  if (a.manager === server) return "flowserver";
  let h = 0;
  for (const c of a.manager ?? a.user ?? "") h = (h * 31 + c.charCodeAt(0)) % 8;
  return a.manager || a.user ? "flow" + h : "flownone";
};

/** The fields that the server sets, which have no manager. */
const ofServer = new Set([
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "selfLink",
  "deletionTimestamp",
  "namespace",
  "name",
]);

export function Source({ object, changes }: { object: KubeObject; changes: Change[] }) {
  const [secrets, setSecrets] = useState(false);
  const isSecret = object.kind === "Secret" && (object.apiVersion === "v1" || !object.apiVersion);
  const lines = useMemo(() => {
    const blame = new Blame(object, changes);
    const shown = isSecret && !secrets ? masked(object) : object;
    return toLines(shown, (path) => path.join(".") === "metadata.managedFields").map((line) => {
      const path = line.path;
      const isOwn = path.length === 2 && path[0] === "metadata" && ofServer.has(path[1]);
      const author =
        !line.leaf || (path.length === 1 && (path[0] === "kind" || path[0] === "apiVersion"))
          ? {}
          : isOwn
            ? { manager: server }
            : blame.of(path, line.value);
      return { ...line, author };
    });
  }, [object, changes, secrets]);
  let last = "";
  return (
    <Section title="Who set what" note="manager, user, age, request">
      {isSecret && (
        <p class="note">
          <button class="link" onClick={() => setSecrets(!secrets)} aria-pressed={secrets}>
            {secrets ? "hide" : "show"} the values
          </button>
        </p>
      )}
      <div class="blame" role="table" aria-label="Fields with their authors">
        {lines.map((line, i) => {
          const who = identity(line.author);
          const again = who === last || !who.trim();
          last = who;
          return (
            <div class={"row " + (who.trim() ? shade(line.author) : "flownone")} role="row" key={i}>
              <span class="author" role="cell">
                {!again && <Who author={line.author} />}
              </span>
              <code role="cell">{line.text}</code>
            </div>
          );
        })}
      </div>
    </Section>
  );
}

function Who({ author: a }: { author: Author }) {
  const when = a.time ? age(Date.now() - Date.parse(a.time)) : "";
  const words = [a.manager && `manager ${a.manager}`, a.operation, a.user && `user ${a.user}`, a.time].filter(Boolean).join(", ");
  const name = (
    <>
      <b>{a.manager ?? "?"}</b>
      {a.user && <span> {userName(a.user)}</span>}
    </>
  );
  return (
    <span title={words}>
      {a.request ? <a href={requestRoute(a.request)}>{name}</a> : name}
      <time>{when}</time>
    </span>
  );
}

/** A Secret without its values, for the eyes of a class. */
function masked(object: KubeObject): KubeObject {
  const hide = (data: unknown) =>
    Object.fromEntries(
      Object.entries((data ?? {}) as Record<string, string>).map(([k, v]) => [k, `(${Math.floor((String(v).length * 3) / 4)} bytes)`]),
    );
  return {
    ...object,
    ...(object.data ? { data: hide(object.data) } : {}),
    ...(object.stringData ? { stringData: hide(object.stringData) } : {}),
  };
}
