/** The frame of every page: rail, bar, tape, notices, page, drawer, and overlays. */

import { useEffect, useState } from "preact/hooks";
import { computed } from "@preact/signals";
import { count } from "../../base/text/format.js";
import { failure, lastStep, now, view } from "../../state.js";
import { Bar } from "./bar.js";
import { h, html } from "../html.js";
import { Notices } from "./notices.js"; // loaded first: it must work when the server is gone
import { message, overlay } from "./overlay.js";
import { Rail } from "./rail.js";
import { Tape } from "./tape.js";

/** Pages by name. A page's module is loaded when the page is first opened.
 * @type {Record<string, () => Promise<{Page: any, pane?: boolean}>>} */
const LOAD = {
  runs: () => import("../../pages/runs.js"),
  overview: () => import("../../pages/overview.js"),
  metrics: () => import("../../pages/metrics.js"),
  glossary: () => import("../../pages/glossary.js"),
  findings: () => import("../../pages/findings.js"),
  rollouts: () => import("../../pages/rollouts.js"),
  timeline: () => import("../../pages/timeline.js"),
  system: () => import("../../pages/system.js"),
  environment: () => import("../../pages/environment.js"),
  evals: () => import("../../pages/evals.js"),
  compare: () => import("../../pages/compare.js"),
  sql: () => import("../../pages/sql.js"),
  facts: () => import("../../pages/facts.js"),
  console: () => import("../../pages/console.js"),
  missing: () => import("../../pages/missing.js"),
};

const pageShown = computed(() => view.value.page);
const runShown = computed(() => view.value.run);
const drawerOpen = computed(() => Boolean(view.value.open));

/** Past rail, bar and tape, for people who use the keyboard. */
const toPage = () => document.getElementById("page")?.focus();

/** Renders again only for another page, run or drawer, not for a zoom. */
export function Frame() {
  const [page, run] = [pageShown.value, runShown.value];
  const load = LOAD[page] ?? LOAD.missing;
  return html`
    <div class=${run ? "frame" : "frame bare"}>
      <button class="skip button" type="button" onClick=${toPage}>Skip to the page</button>
      ${h(Rail, {})}${h(Bar, {})}${run ? h(Tape, { key: run }) : null}${h(Notices, {})}
      <div class="stage">
        ${h(LazyPage, { name: page, load, key: `${page} ${run}` })}
        ${drawerOpen.value ? h(Lazy, { name: "drawer", load: loadDrawer }) : null}
      </div>
      ${overlay.value ? h(Lazy, { name: overlay.value, load: OVERLAYS[overlay.value], key: overlay.value }) : null}
      <div class="sr" aria-live="polite">${message.value}</div>
      ${
        message.value
          ? html`
              <div class="toast" aria-hidden="true">${message.value}</div>
            `
          : null
      }
    </div>
  `;
}

const loadDrawer = () => import("./drawer.js").then((m) => ({ Page: m.Drawer }));
const OVERLAYS = {
  palette: () => import("./palette.js").then((m) => ({ Page: m.Palette })),
  pages: () => import("./page-sheet.js").then((m) => ({ Page: m.PageSheet })),
  keys: () => import("./key-sheet.js").then((m) => ({ Page: m.KeySheet })),
};
/** @type {Map<string, any>} */
const modules = new Map();

/** Load a module, once. @param {string} name @param {() => Promise<any>} load */
const loadOnce = async (name, load) => {
  if (!modules.has(name)) modules.set(name, await load());
  return modules.get(name);
};

/** Resolves when the module of the page at this address is loaded, so the frame is laid out once.
 * If it cannot be loaded, the page says so. */
export const ready = () =>
  loadOnce(view.value.page, LOAD[view.value.page] ?? /** @type {any} */ (LOAD.missing)).catch(() => {});

/** The module, or null until it is loaded. @param {string} name @param {any} load */
function useModule(name, load) {
  const [module, setModule] = useState(() => modules.get(name) ?? null);
  useEffect(() => {
    let wanted = true;
    if (!module)
      loadOnce(name, load).then(
        (/** @type {any} */ m) => {
          if (wanted) setModule(() => m);
        },
        (/** @type {Error} */ e) => {
          failure.value = `This page's code could not be loaded: ${e.message}. Reload the page.`;
        },
      );
    return () => {
      wanted = false;
    };
  }, [name]);
  return module;
}

/** A part whose module is loaded when it is first shown.
 * @param {{name: string, load: any}} props */
function Lazy({ name, load }) {
  const module = useModule(name, load);
  return module ? h(module.Page, {}) : null;
}

/** @param {{name: string, load: any}} props */
function LazyPage({ name, load }) {
  const module = useModule(name, load);
  const error =
    failure.value && !module
      ? html`
          <p class="bare-page">${failure.value}</p>
        `
      : null;
  return html`
    <main class=${module?.pane ? "page pane" : "page"} id="page" tabindex="-1" data-page=${module ? name : ""}>
      ${module ? h(module.Page, {}) : error}
    </main>
    ${h(Waiting, { cards: CHARTS.has(name) })}
  `;
}

const CHARTS = new Set(["overview", "metrics"]); // pages that begin with cards
const SLOW = 2; // seconds after which a sentence says what is being read

/** Stands while the page has nothing to show: axes without ink, later a sentence with the time.
 * @param {{cards: boolean}} props */
function Waiting({ cards }) {
  const [began] = useState(Date.now);
  const waited = Math.round((now.value - began) / 1000);
  const what = view.value.run ? (lastStep.value ? `${count(lastStep.value + 1)} steps` : "the run") : "the runs";
  return html`
    <div class="waiting" aria-hidden="true">
      ${
        waited < SLOW
          ? null
          : html`
              <p class="read">Reading ${what}, ${waited} s</p>
            `
      }
      ${
        cards
          ? html`
              <div class="cards">
                ${[1, 2, 3, 4, 5, 6].map(
                  () => html`
                    <div class="card chart">
                      <header></header>
                      <div class="axes"></div>
                    </div>
                  `,
                )}
              </div>
            `
          : null
      }
    </div>
  `;
}
