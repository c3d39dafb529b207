// Numbers, times and names as people read them.

export function duration(microseconds: number): string {
  if (microseconds < 1000) return `${Math.round(microseconds)} µs`;
  if (microseconds < 10_000) return `${(microseconds / 1000).toFixed(1)} ms`;
  if (microseconds < 1e6) return `${Math.round(microseconds / 1000)} ms`;
  if (microseconds < 6e7) return `${(microseconds / 1e6).toFixed(1)} s`;
  return age(microseconds / 1000);
}

/** A duration of Go, such as 1m2.5s, in microseconds. */
export function parseDuration(text: string): number {
  const units: Record<string, number> = { ns: 1e-3, µs: 1, us: 1, ms: 1e3, s: 1e6, m: 6e7, h: 3.6e9 };
  let sum = 0;
  for (const [, value, unit] of text.matchAll(/([\d.]+)(ns|µs|us|ms|s|m|h)/g)) sum += Number(value) * units[unit];
  return sum;
}

export function age(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d`;
}

const two = (n: number) => String(n).padStart(2, "0");

/** The time of day with milliseconds. Intl is too slow for thousands of rows. */
export function clock(ms: number): string {
  if (!Number.isFinite(ms)) return "";
  const d = new Date(ms);
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.${String(d.getMilliseconds()).padStart(3, "0")}`;
}

export const seconds = (ms: number) => clock(ms).slice(0, 8);

export const count = (n: number) => n.toLocaleString("en-US");

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  if (n < 1 << 20) return `${(n / 1024).toFixed(1)} KiB`;
  return `${(n / (1 << 20)).toFixed(1)} MiB`;
}

/** The program in a User-Agent: kubectl/v1.37.2 of kubectl/v1.37.2 (linux/amd64) kubernetes/abc. */
export const agentName = (agent: string) => agent.split(" ")[0].slice(0, 60);

/** A user without the words that all service accounts share. */
export const userName = (user: string) => user.replace(/^system:serviceaccount:/, "sa:");

/** The address in which an object has a view of its own: deployments.apps/default/web. */
export const objectRoute = (resource: string, namespace: string, name: string) =>
  "#/objects/" + [resource.split("/")[0], namespace, name].filter(Boolean).map(encodeURIComponent).join("/");

export const codeClass = (code: number, running = false) =>
  running ? "running" : code >= 500 || code === 429 ? "failed" : code >= 400 ? "refused" : "ok";
