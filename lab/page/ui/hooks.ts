// Hooks that several views use.

import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { store } from "./store";

export interface Route {
  view: string;
  /** The parts of the address after the view. */
  rest: string[];
}

export const parseRoute = (hash: string): Route => {
  const [view, ...rest] = hash.replace(/^#\/?/, "").split("/").map(safeDecode);
  return { view: view || "requests", rest };
};

const safeDecode = (text: string) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const onHash = () => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);
  return route;
}

export function useMedia(media: string): boolean {
  const [matches, set] = useState(() => matchMedia(media).matches);
  useEffect(() => {
    const list = matchMedia(media);
    const change = () => set(list.matches);
    list.addEventListener("change", change);
    return () => list.removeEventListener("change", change);
  }, [media]);
  return matches;
}

export const useReducedMotion = () => useMedia("(prefers-reduced-motion: reduce)");

/** Draws again when the store has changed. */
export function useStore(active = true) {
  const [, draw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => (active ? store.subscribe(() => draw(undefined as never)) : undefined), [active]);
}

export interface Polled<T> {
  value?: T;
  problem?: Error;
  /** When the value was read. */
  at: number;
  again: () => void;
}

/** Reads a value now and then, one at a time, while the tab is visible. */
export function usePoll<T>(read: (signal: AbortSignal) => Promise<T>, every: number, depends: unknown[] = []): Polled<T> {
  const [state, set] = useState<{ value?: T; problem?: Error; at: number }>({ at: 0 });
  const now = useRef<() => void>(() => {});
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    let running = false;
    const tick = async () => {
      clearTimeout(timer);
      if (running) return;
      if (!document.hidden) {
        running = true;
        try {
          const value = await read(stop.signal);
          if (!stop.signal.aborted) set({ value, at: Date.now() });
        } catch (problem) {
          if (!stop.signal.aborted) set((s) => ({ ...s, problem: problem as Error }));
        }
        running = false;
      }
      if (!stop.signal.aborted && every) timer = setTimeout(tick, every);
    };
    now.current = tick;
    void tick();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, depends);
  return { ...state, again: () => now.current() };
}

/** Remembers the last values of a series, for plots. */
export function useHistory<T>(value: T | undefined, at: number, length: number): { at: number; value: T }[] {
  const history = useRef<{ at: number; value: T }[]>([]);
  const last = history.current[history.current.length - 1];
  if (value !== undefined && at && last?.at !== at) {
    history.current = [...history.current.slice(1 - length), { at, value }];
  }
  return history.current;
}
