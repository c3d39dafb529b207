// Objects as lines of YAML, each with the path of its field.

export interface YAMLLine {
  text: string;
  /** The path of the field, its parts. */
  path: string[];
  /** The value of a line that has one. */
  value: unknown;
  /** Whether the line has a value that is no list or map. */
  leaf: boolean;
}

const plain = /^[A-Za-z_/](?:[\w./@%+=(),-]|:(?=[^\s:]))*(?: [\w./@%+=(),-]+)*$/;
const words = /^(true|false|yes|no|on|off|null|y|n|~)$/i;

export function scalar(v: unknown): string {
  if (typeof v !== "string") return JSON.stringify(v);
  return plain.test(v) && !words.test(v) ? v : JSON.stringify(v);
}

const isBranch = (v: unknown): v is object => typeof v === "object" && v !== null && Object.keys(v).length > 0;

/** The lines of an object. Fields are in the order in which the API sends them. */
export function toLines(object: unknown, skip: (path: string[]) => boolean = () => false): YAMLLine[] {
  const lines: YAMLLine[] = [];
  const put = (indent: string, head: string, v: unknown, path: string[]) => {
    if (typeof v === "string" && v.includes("\n")) {
      lines.push({ text: `${indent}${head} |`, path, value: v, leaf: true });
      const inner = " ".repeat(indent.length) + "  ";
      for (const row of v.replace(/\n$/, "").split("\n")) lines.push({ text: inner.replace(/-/g, " ") + row, path, value: v, leaf: true });
    } else if (!isBranch(v)) {
      lines.push({ text: `${indent}${head} ${scalar(v)}`.replace(/: $/, ":"), path, value: v, leaf: true });
    } else {
      lines.push({ text: indent + head, path, value: v, leaf: false });
      walk(v, Array.isArray(v) ? indent.replace(/-/g, " ") : indent.replace(/-/g, " ") + "  ", path);
    }
  };
  const walk = (v: object, indent: string, path: string[]) => {
    if (Array.isArray(v)) {
      v.forEach((item, i) => {
        const at = [...path, String(i)];
        if (!isBranch(item)) return put(indent, "-", item, at);
        const before = lines.length;
        walk(item, indent + "  ", at);
        // The first line of the element has the dash.
        lines[before].text = indent + "- " + lines[before].text.slice(indent.length + 2);
      });
      return;
    }
    for (const [key, value] of Object.entries(v)) {
      const at = [...path, key];
      if (!skip(at)) put(indent, scalar(key) + ":", value, at);
    }
  };
  if (isBranch(object)) walk(object, "", []);
  return lines;
}
