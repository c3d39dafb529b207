// Requests to the API, and lists that stay up to date.

import type { List } from "./types";

const tokenKey = "lab-token";
let token = "";

/** Takes the token out of the address, so that it is in no bookmark or history, or from before a reload. */
export function loadToken(): boolean {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const given = fragment.get("token");
  if (given) {
    setToken(given);
    history.replaceState(null, "", location.pathname + "#/requests");
  } else {
    token = sessionStorage.getItem(tokenKey) ?? "";
  }
  return token !== "";
}

export function setToken(value: string) {
  token = value.trim();
  sessionStorage.setItem(tokenKey, token);
}

/** An answer of the API that is no success. */
export class APIError extends Error {
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
  ) {
    super(message);
  }
}

let refused: () => void = () => {};

/** Sets what happens when the token is wrong. */
export function onRefused(f: () => void) {
  refused = f;
}

async function send(path: string, init: RequestInit & { accept?: string } = {}): Promise<Response> {
  const response = await fetch(path, {
    ...init,
    headers: {
      Accept: init.accept ?? "application/json",
      Authorization: "Bearer " + token,
      ...(init.body ? { "Content-Type": "application/json" } : {}),
    },
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
    referrerPolicy: "no-referrer",
  });
  if (response.ok) return response;
  const text = (await response.text()).slice(0, 4096);
  let reason = "";
  let message = text || response.statusText;
  try {
    const status = JSON.parse(text);
    reason = status.reason ?? "";
    message = status.message ?? message;
  } catch {
    // The handler of the page answers in plain text.
  }
  if (response.status === 401 && response.headers.get("WWW-Authenticate")?.includes("lab page")) refused();
  throw new APIError(response.status, reason, message.trim());
}

export const getText = async (path: string, signal?: AbortSignal) => (await send(path, { signal, accept: "text/plain, */*" })).text();

export const getJSON = async <T>(path: string, signal?: AbortSignal, accept?: string): Promise<T> =>
  (await send(path, { signal, accept })).json();

export const post = async <T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> =>
  (await send(path, { method: "POST", body: JSON.stringify(body), signal })).json();

export const query = (path: string, parameters: Record<string, string | undefined>) => {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value) q.set(name, value);
  const text = q.toString();
  return text ? `${path}?${text}` : path;
};

/** Lists all pages of a collection. */
export async function listAll<T>(
  path: string,
  parameters: Record<string, string> = {},
  options: { signal?: AbortSignal; accept?: string; most?: number; page?: (items: T[]) => void } = {},
): Promise<{ items: T[]; resourceVersion: string; more: boolean }> {
  const items: T[] = [];
  let next: string | undefined;
  for (;;) {
    const url = query(path, { limit: "500", ...parameters, continue: next });
    const list: List<T> = await getJSON(url, options.signal, options.accept);
    if (options.page) options.page(list.items ?? []);
    else items.push(...(list.items ?? []));
    next = list.metadata.continue;
    const more = Boolean(next) && items.length >= (options.most ?? Infinity);
    if (!next || more) return { items, resourceVersion: list.metadata.resourceVersion ?? "", more };
  }
}

/** Lists of metadata only are small. */
export const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

export interface Follower<T> {
  /** Called before a list, which has everything. */
  reset(): void;
  /** Called with a page of the list. */
  page(items: T[]): void;
  /** Called with the lines of events, without bookmarks. */
  events(lines: string[]): void;
  /** Called with what the connection does. */
  state(state: "listing" | "live" | "waiting", problem?: Error): void;
}

const sleep = (ms: number, signal: AbortSignal) =>
  new Promise<void>((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });

/** Resolves when the tab is visible. A hidden tab needs no events, and browsers have few connections to an origin. */
const visible = (signal: AbortSignal) =>
  new Promise<void>((done) => {
    const check = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", check);
      done();
    };
    document.addEventListener("visibilitychange", check);
    signal.addEventListener("abort", check, { once: true });
    check();
  });

/** Lists a collection and watches it until stop is aborted: it resumes where a watch ended, and lists again after 410. */
export async function follow<T>(path: string, parameters: Record<string, string>, follower: Follower<T>, stop: AbortSignal) {
  let from = "";
  let pause = 250;
  while (!stop.aborted) {
    await visible(stop);
    if (stop.aborted) return;
    const connection = new AbortController();
    const end = () => connection.abort();
    const hide = () => document.hidden && end();
    stop.addEventListener("abort", end, { once: true });
    document.addEventListener("visibilitychange", hide);
    try {
      if (!from) {
        follower.state("listing");
        follower.reset();
        const list = await listAll<T>(path, parameters, { signal: connection.signal, page: (i) => follower.page(i) });
        from = list.resourceVersion;
      }
      follower.state("live");
      const watch = query(path, { ...parameters, watch: "true", allowWatchBookmarks: "true", resourceVersion: from });
      const began = performance.now();
      const response = await send(watch, { signal: connection.signal });
      await readEvents(response, follower, (version) => ((from = version), (pause = 250)));
      if (performance.now() - began < 1000) await sleep(pause, stop);
    } catch (e) {
      const problem = e as APIError;
      if (problem.code === 410) from = "";
      else if (!connection.signal.aborted) {
        follower.state("waiting", problem);
        await sleep(pause, stop);
        pause = Math.min(2 * pause, 10_000);
      }
    } finally {
      stop.removeEventListener("abort", end);
      document.removeEventListener("visibilitychange", hide);
    }
  }
}

// maxLine is the maximum length of an event. A longer one is a mistake, not an object.
const maxLine = 16 << 20;

async function readEvents<T>(response: Response, follower: Follower<T>, seen: (version: string) => void) {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let began = performance.now();
  for (;;) {
    if (performance.now() - began > 8) {
      // Chunks that have arrived already come without a pause, in which the tab would not answer.
      await new Promise((done) => setTimeout(done));
      began = performance.now();
    }
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop()!;
    if (rest.length > maxLine) throw new Error("an event of the API is too long");
    const events: string[] = [];
    for (const line of lines) {
      if (line.startsWith('{"type":"BOOKMARK"')) {
        seen(JSON.parse(line).object.metadata.resourceVersion);
      } else if (line.startsWith('{"type":"ERROR"')) {
        const status = JSON.parse(line).object;
        if (events.length) follower.events(events);
        throw new APIError(status.code, status.reason, status.message);
      } else if (line) {
        events.push(line);
      }
    }
    if (events.length) {
      const version = versionOf(events[events.length - 1]);
      if (version) seen(version);
      follower.events(events);
    }
  }
}

/** The resourceVersion in the metadata of an event: that of the object comes first, before those in its status. */
function versionOf(line: string): string {
  return JSON.parse(line).object?.metadata?.resourceVersion ?? "";
}
