// Light, dark, or as the system has it.

import { useEffect, useState } from "preact/hooks";

export type Theme = "auto" | "light" | "dark";

const key = "lab-theme";
const known = (t: string | null): Theme => (t === "light" || t === "dark" ? t : "auto");

const apply = (t: Theme) => {
  if (t === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = t;
  dispatchEvent(new Event("lab-theme"));
};

apply(known(localStorage.getItem(key)));

export const nextTheme = (t: Theme): Theme => (t === "auto" ? "light" : t === "light" ? "dark" : "auto");

export function useTheme() {
  const [theme, setTheme] = useState<Theme>(known(localStorage.getItem(key)));
  useEffect(() => {
    localStorage.setItem(key, theme);
    apply(theme);
  }, [theme]);
  return [theme, setTheme] as const;
}

/** Calls f when the colours change. */
export function onTheme(f: () => void): () => void {
  const media = matchMedia("(prefers-color-scheme: dark)");
  addEventListener("lab-theme", f);
  media.addEventListener("change", f);
  return () => {
    removeEventListener("lab-theme", f);
    media.removeEventListener("change", f);
  };
}

/** The value of a colour of the style sheet, for canvases. */
export function colour(name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
