/** The rail: the pages of the run, then the runs of its project with colour, state and sparkline.
 */

import { useEffect, useRef } from "preact/hooks";
import { effect, signal, untracked } from "@preact/signals";
import { series } from "../../base/chart/color.js";
import { count, plural } from "../../base/text/format.js";
import { PAGES } from "../../base/text/url.js";
import { slotOf } from "../../charts/theme-colors.js";
import { drawSparkline } from "../../charts/run-drawings.js";
import { switchTheme, theme } from "../../prefs.js";
import { findings, go, href, lastStep, pageOf, run, runs, view } from "../../state.js";
import { ROOT } from "../../wire/api.js";
import { Icon, IconButton, SignedIn } from "../controls.js";
import { h, html } from "../html.js";
import { copyLink, overlay } from "./overlay.js";

/** @typedef {import("../../state.js").RunRow} RunRow */

/** The view that the links carry. It follows a zoom 200 ms later: thirty addresses need not delay
 * the charts. */
const carried = signal(view.peek());
let following = 0;
effect(() => {
  const [v, old] = [view.value, carried.peek()];
  clearTimeout(following);
  if (v.page !== old.page || v.run !== old.run || v.runs !== old.runs) carried.value = v;
  else
    following = setTimeout(() => {
      carried.value = v;
    }, 200);
});

/** Pages that need no run: name, title, key, address. @type {[string, string, string, string][]} */
const WITHOUT_RUN = [
  ["runs", "Runs", "l", ""],
  ["glossary", "Glossary", "w", "glossary"],
];

export function Rail() {
  const { page, run: id } = carried.value;
  return html`
    <nav class="rail" aria-label="Pages and runs">
      <a class="brand" href=${ROOT.href} title="All runs">
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <rect width="16" height="16" rx="4" />
          <path
            d="M2.5 8.5h2.2l1.6-4 2.6 7.5 2-5 .8 1.5h1.8"
            fill="none"
            stroke-width="1.4"
            stroke-linecap="round"
            stroke-linejoin="round" />
        </svg>
        <span>Rollscope</span>
      </a>
      <div class="pages">
        ${
          id
            ? PAGES.map(([name, title, key]) =>
                h(PageLink, { name, title, keyName: key, to: untracked(() => pageOf(id, name)), here: page === name }),
              )
            : WITHOUT_RUN.map(([name, title, keyName, to]) =>
                h(PageLink, { name, title, keyName, to: new URL(to, ROOT).href, here: page === name }),
              )
        }${id ? h(More, { here: PAGES.findIndex(([name]) => name === page) >= FEW }) : null}
      </div>
      ${id ? h(Runs, {}) : null}${h(Foot, {})}
    </nav>
  `;
}

const FEW = 4; // pages that a phone's bar has beside "More"

/** Opens the list of all pages, where the bar of a phone has no room for them.
 * @param {{here: boolean}} props */
function More({ here }) {
  const open = () => {
    overlay.value = "pages";
  };
  return html`
    <button class="more" type="button" aria-pressed=${String(here)} onClick=${open}>
      ${h(Icon, { name: "more" })}
      <span>More</span>
    </button>
  `;
}

/** A page in the rail; Findings shows its count.
 * @param {{name: string, title: string, keyName: string, to: string, here: boolean}} props */
function PageLink({ name, title, keyName, to, here }) {
  const bad = name === "findings" ? findings.value.filter((f) => f.severity !== "info").length : 0;
  return html`
    <a href=${to} aria-current=${here ? "page" : undefined} title=${title}>
      ${h(Icon, { name })}
      <span>${title}</span>
      <kbd>
        ${
          bad
            ? html`
                <b>${bad}</b>
                ${" "}
              `
            : ""
        }${keyName}
      </kbd>
    </a>
  `;
}

function Runs() {
  const project = run.value?.project ?? "";
  const mine = (runs.value ?? [])
    .filter((r) => r.project === project && (!r.archived || r.id === view.value.run))
    .slice(0, 60);
  return html`
    <h3>${project ? `Runs in ${project}` : "Runs"}</h3>
    <div class="runs">${mine.map((r) => h(RunLine, { r, key: r.id }))}</div>
  `;
}

/** @param {{r: RunRow}} props */
function RunLine({ r }) {
  const v = carried.value;
  const here = r.id === v.run;
  const on = here || v.runs.includes(r.id);
  const { color } = series(slotOf(r.id), theme.value);
  const toggle = () => {
    const now = view.value.runs;
    if (!here) go({ runs: on ? now.filter((x) => x !== r.id) : [...now, r.id] }, "replace");
  };
  const others = v.runs.filter((x) => x !== r.id);
  const to = untracked(() => href({ run: r.id, step: null, range: null, open: "", runs: others }));
  return html`
    <div class=${here ? "run here" : "run"}>
      <button
        class=${on ? "swatch" : "swatch off"}
        style=${{ "--c": color }}
        type="button"
        aria-pressed=${String(on)}
        aria-label=${`${on ? "hide" : "show"} ${r.name} on charts`}
        title=${here ? "this run" : on ? "hide on charts" : "show on charts"}
        onClick=${toggle}></button>
      <a href=${to}>
        ${h(Name, { text: r.name || r.id })}
        <div class="what cut">${stateWords(here && r.step !== null ? { ...r, step: lastStep.value } : r)}</div>
      </a>
      ${h(Sparkline, { values: r.spark, color })}
    </div>
  `;
}

/** A name that loses its middle where room is short: its end is what tells runs apart.
 * @param {{text: string}} props */
function Name({ text }) {
  const at = text.length > END + 4 ? text.length - END : text.length;
  return html`
    <div class="name middle" title=${text}>
      <span class="cut">${text.slice(0, at)}</span>
      <span>${text.slice(at)}</span>
    </div>
  `;
}

const END = 8; // characters of a name that always show

/** The state of a run in words. @param {RunRow} r */
export function stateWords(r) {
  const at = r.step === null ? "" : count(r.step);
  if (r.state === "running") return at ? `running, step ${at}` : "starting";
  if (r.state === "finished") return r.steps ? `finished, ${plural(r.steps, "step")}` : "finished";
  if (r.state === "unreadable") return r.reason;
  return at ? `${r.state} at ${at}` : r.state;
}

/** A small line of a run's reward.
 * @param {{values: (number | null)[], color: string, width?: number, height?: number}} props */
export function Sparkline({ values, color, width = 46, height = 18 }) {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  useEffect(() => {
    if (canvas.current) drawSparkline(canvas.current, values, color, width, height);
  }, [values, color, width, height]);
  return html`
    <canvas
      ref=${canvas}
      width=${width}
      height=${height}
      style=${{ width: `${width}px`, height: `${height}px` }}
      aria-hidden="true"></canvas>
  `;
}

function Foot() {
  const other = theme.value === "dark" ? "Light" : "Dark";
  const showKeys = () => {
    overlay.value = "keys";
  };
  return html`
    <div class="foot">
      ${h(IconButton, { icon: "keys", label: "Keys (?)", act: showKeys })}
      ${h(IconButton, { icon: "theme", label: `${other} (\\)`, act: switchTheme })}
      ${h(IconButton, { icon: "link", label: "Copy the link to this view (u)", act: copyLink })} ${h(SignedIn, {})}
      <a class="ink3" href=${new URL("api/", ROOT).href} target="_blank" rel="noopener">API</a>
    </div>
  `;
}
