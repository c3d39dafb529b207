// The page: its navigation, its keys, and the view of the address.

import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { loadToken, onRefused, setToken } from "./api";
import { useRoute } from "./hooks";
import { AccessView } from "./access";
import { ControllersView } from "./controllers";
import { LevelsView } from "./levels";
import { ObjectsView } from "./objects";
import { RequestsView } from "./requests";
import { WatchesView } from "./watches";
import { WebhooksView } from "./webhooks";
import { nextTheme, useTheme } from "./theme";

const views = [
  { id: "requests", name: "Requests", view: RequestsView },
  { id: "objects", name: "Objects", view: ObjectsView },
  { id: "watches", name: "Watches", view: WatchesView },
  { id: "levels", name: "Flow control", view: LevelsView },
  { id: "webhooks", name: "Webhooks", view: WebhooksView },
  { id: "controllers", name: "Controllers", view: ControllersView },
  { id: "access", name: "Access", view: AccessView },
];

const keys: [string, string][] = [
  ["1 … 7", "go to a view"],
  ["/", "search"],
  ["j, k or ↓, ↑", "next, previous row"],
  ["Home, End", "newest, oldest row"],
  ["Enter", "open the row"],
  ["Esc", "close, leave a field"],
  ["p", "pause, go on"],
  ["t", "light, dark, as the system"],
  ["?", "this list"],
];

const isField = (e: Event) => e.target instanceof Element && e.target.matches("input, select, textarea");

function Page() {
  const route = useRoute();
  const [theme, setTheme] = useTheme();
  const [locked, setLocked] = useState(!loaded);
  const help = useRef<HTMLDialogElement>(null);
  const main = useRef<HTMLElement>(null);
  const current = views.find((v) => v.id === route.view) ?? views[0];

  useEffect(() => onRefused(() => setLocked(true)), []);
  useEffect(() => {
    document.title = `${current.name} · lab`;
  }, [current]);
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey || isField(e) || help.current?.open) return;
      const view = views[Number(e.key) - 1];
      if (view) {
        location.hash = "#/" + view.id;
        main.current?.focus();
      } else if (e.key === "t") setTheme(nextTheme);
      else if (e.key === "?") help.current?.showModal();
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);

  if (locked) return <Locked />;
  const View = current.view;
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={(e) => (e.preventDefault(), main.current?.focus())}>
        Skip to the content
      </a>
      <nav class="nav" aria-label="Views">
        <b class="brand">lab</b>
        {views.map((v, i) => (
          <a key={v.id} href={"#/" + v.id} aria-current={v === current ? "page" : undefined} title={`Key ${i + 1}`}>
            {v.name}
          </a>
        ))}
        <span class="grow" />
        <button class="quiet" onClick={() => setTheme(nextTheme)} title="Key t" aria-label={`Colours: ${theme}`}>
          {theme === "auto" ? "◐" : theme === "dark" ? "●" : "○"}
          <span class="wide"> {theme}</span>
        </button>
        <button class="quiet" onClick={() => help.current?.showModal()} title="Key ?" aria-label="Keys">
          ?<span class="wide"> keys</span>
        </button>
      </nav>
      <main id="main" ref={main} tabIndex={-1} aria-label={current.name}>
        <View key={current.id} route={route} />
      </main>
      <dialog ref={help} aria-label="Keys" onClick={(e) => e.target === help.current && help.current?.close()}>
        <h2>Keys</h2>
        <dl class="facts">
          {keys.map(([key, what]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <button onClick={() => help.current?.close()}>Close</button>
      </dialog>
    </div>
  );
}

/** Locked asks for the token. */
function Locked() {
  const field = useRef<HTMLInputElement>(null);
  const open = (e: Event) => {
    e.preventDefault();
    const text = field.current!.value;
    setToken(text.includes("#token=") ? text.split("#token=")[1] : text);
    location.reload();
  };
  return (
    <main class="locked">
      <h1>This page needs its token</h1>
      <p role="alert">The token is missing or wrong. It changes with each start of the server.</p>
      <p>Open the address that the server printed at its start, or paste it here.</p>
      <form onSubmit={open}>
        <input ref={field} type="password" autoComplete="off" aria-label="Address or token" placeholder="http://127.0.0.1:…/#token=…" />
        <button>Open</button>
      </form>
    </main>
  );
}

const loaded = loadToken();
// The address of a server that has started again differs in its fragment only, for which browsers do not load the page.
addEventListener("hashchange", () => location.hash.startsWith("#token=") && location.reload());
const root = document.getElementById("page")!;
root.replaceChildren();
render(<Page />, root);
