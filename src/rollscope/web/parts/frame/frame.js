/** The frame every page stands in: rail, bar, tape, notices, page, drawer, and whatever lies over it. */

import { useEffect, useRef, useState } from "preact/hooks";
import { computed } from "@preact/signals";
import { failure, view } from "../../state.js";
import { Bar } from "./bar.js";
import { h, html } from "../html.js";
import { Notices } from "./notices.js"; // not loaded later: it must speak when the server is gone
import { overlay, said } from "./overlay.js";
import { Rail } from "./rail.js";
import { Tape } from "./tape.js";

/** Pages by name; each is loaded when first opened. @type {Record<string, () => Promise<{Page: any, pane?: boolean}>>} */
const LOAD = {
  runs: () => import("../../pages/runs.js"),
  overview: () => import("../../pages/overview.js"),
  metrics: () => import("../../pages/metrics.js"),
  glossary: () => import("../../pages/glossary.js"),
  findings: () => import("../../pages/findings.js"),
  rollouts: () => import("../../pages/rollouts.js"),
  timeline: () => import("../../pages/timeline.js"),
  system: () => import("../../pages/system.js"),
  evals: () => import("../../pages/evals.js"),
  compare: () => import("../../pages/compare.js"),
  sql: () => import("../../pages/sql.js"),
  missing: () => import("../../pages/missing.js"),
};

const here = computed(() => view.value.page);
const whose = computed(() => view.value.run);
const opened = computed(() => Boolean(view.value.open));

/** Made anew when another page, run or drawer is opened; a zoom is none of these. */
export function Frame() {
  const [page, run] = [here.value, whose.value];
  return html`
    <div class=${run ? "frame" : "frame bare"}>
      ${h(Rail, {})}${h(Bar, {})}${run ? h(Tape, { key: run }) : null}${h(Notices, {})}
      <div class="stage">
        ${h(Loaded, { name: page, load: LOAD[page] ?? LOAD.missing, key: `${page} ${run}`, props: {} })}${opened.value ? h(Loaded, { name: "drawer", load: loadDrawer, bare: true, props: {} }) : null}
      </div>
      ${overlay.value ? h(Loaded, { name: overlay.value, load: overlay.value === "keys" ? loadSheet : loadPalette, bare: true, key: overlay.value, props: {} }) : null}
      <div class="sr" aria-live="polite">${said.value}</div>
      ${
        said.value
          ? html`
              <div class="toast" aria-hidden="true">${said.value}</div>
            `
          : null
      }
    </div>
  `;
}

const loadDrawer = () => import("./drawer.js").then((m) => ({ Page: m.Drawer }));
const loadPalette = () => import("./palette.js").then((m) => ({ Page: m.Palette }));
const loadSheet = () => import("./key-sheet.js").then((m) => ({ Page: m.Sheet }));
/** @type {Map<string, any>} */
const known = new Map();

/** The code of a page or part, once. @param {string} name @param {() => Promise<any>} load */
const bring = async (name, load) => {
  if (!known.has(name)) known.set(name, await load());
  return known.get(name);
};

/** When the code of the page at this address is here (or cannot be had, which the page says itself): drawn with it, the frame is laid out once. */
export const ready = () =>
  bring(view.value.page, LOAD[view.value.page] ?? /** @type {any} */ (LOAD.missing)).catch(() => {});

/** Something whose code comes when needed. @param {{name: string, load: any, bare?: boolean, props: any}} options */
function Loaded({ name, load, bare, props }) {
  const [found, setFound] = useState(() => known.get(name) ?? null);
  const scroller = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    let wanted = true;
    if (!known.has(name))
      bring(name, load).then(
        (/** @type {any} */ m) => {
          if (wanted) setFound(() => m);
        },
        (/** @type {Error} */ e) => {
          failure.value = `This page's code could not be loaded: ${e.message}. Reload.`;
        },
      );
    return () => {
      wanted = false;
    };
  }, [name]);
  if (bare) return found ? h(found.Page, props) : null;
  const error =
    failure.value && !found
      ? html`
          <p class="bare-page">${failure.value}</p>
        `
      : null;
  return html`
    <main
      class=${found?.pane ? "page pane" : "page"}
      id="page"
      tabindex="-1"
      ref=${scroller}
      data-page=${found ? name : ""}>
      ${found ? h(found.Page, props) : error}
    </main>
  `;
}
