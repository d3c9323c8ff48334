/** Timeline: lanes of every worker over time, and below them the answer for the step. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { count, duration, plural } from "../base/text/format.js";
import { zoomed } from "../base/timeline/lanes.js";
import { bind } from "../keys.js";
import { openDeeper } from "../parts/details/trail.js";
import { h, html } from "../parts/html.js";
import { useAnswer } from "../parts/use-answer.js";
import { tape, ticks, view as address } from "../state.js";
import { get, part } from "../wire/api.js";
import { Answer } from "../timeline/answer.js";
import { nameColours } from "../timeline/draw.js";
import { Lanes } from "../timeline/lanes.js";
import { keep, restore, zoom as asked } from "../timeline/address.js";
import { at, begin, byVersion, hovered, keyOf, outgrown, renew, selected, tile, view } from "../timeline/loading.js";

export const pane = true;
const HOW = "Drag to pan, ctrl and wheel to zoom, shift and drag to select.";

/** @typedef {import("../timeline/loading.js").Index} Index */

export function Page() {
  const run = address.value.run;
  const live = Math.floor(ticks.value / 8); // a growing run is read again every few events
  const [index, error] = useAnswer(`runs/${part(run)}/timeline`, `${live} ${outgrown.value}`);
  useLayoutEffect(() => begin(run, address.peek().step, asked()), [run]);
  if (error)
    return html`
      <p class="bare-page">${error}</p>
    `;
  if (!index) return null;
  if (!index.spans)
    return html`
      <div class="bare-page">
        <h1>No spans yet</h1>
        <p class="prose">
          Record them with ${" "}
          <code>with run.span("generate", lane="inference/0"):</code>
          . Add ${" "}
          <code>sample=</code>
          , ${" "}
          <code>version=</code>
          ${" "} and ${" "}
          <code>queued_ns=</code>
          ${" "} and this page says who waits for whom.
        </p>
      </div>
    `;
  return h(Timeline, { run, index });
}

/** The step at the caret, or the nearest one before it that has spans. @param {Index} index */
function stepShown(index) {
  const caret = address.value.step ?? tape.value?.last ?? Infinity;
  const before = index.steps.filter((n) => n <= caret);
  return before[before.length - 1] ?? index.steps[0] ?? 0;
}

/** From the step before to the one after, as the server has it. @param {Index} index
 * @param {number} n @returns {[number, number]} */
function around(index, n) {
  const i = index.steps.indexOf(n);
  const from = index.starts[Math.max(0, i - 1)] ?? 0;
  const to = index.ends[Math.min(index.steps.length - 1, i + 1)] ?? index.seconds;
  const pad = 0.02 * (to - from);
  return [from - pad, Math.max(to, from + 1e-6) + pad];
}

/** @param {{run: string, index: Index}} props */
function Timeline({ run, index }) {
  const n = stepShown(index);
  const [answer, error] = useAnswer(`runs/${part(run)}/timeline/step?step=${n}`, index.spans);
  nameColours(index.names);
  const [shown, setShown] = useState("");
  useLayoutEffect(() => {
    const first = shown !== run;
    if (first && restore()) return setShown(run);
    view.value = around(index, n);
    if (!first) selected.value = null;
    setShown(run);
  }, [run, n]);
  useEffect(() => keep(() => around(index, n)), [run, n, index]);
  useLayoutEffect(() => renew(run, index), [run, index]);
  useLayoutEffect(() => bind(keys(run, index)), [run, index]);
  return html`
    <div class="timeline">
      ${h(Toolbar, { run, index, n })}${h(Lanes, { run, index, path: answer?.path ?? [], step: n })}
      ${h(Hover, { index })}${h(Answer, { answer, error })}
    </div>
  `;
}

/** @param {string} run @param {Index} index */
const keys = (run, index) => [
  { keys: ["j"], says: "next span of the lane", run: () => move(1) },
  { keys: ["k"], says: "previous span of the lane", run: () => move(-1) },
  {
    keys: ["Enter"],
    says: "open the span",
    run: async () => {
      if (at.value >= 0) openDeeper(`span:${await keyOf(run, at.value)}`);
    },
  },
  { keys: ["z"], says: "whole run", run: () => (view.value = zoomed([0, index.seconds], 0, 1.04, index.seconds)) },
  { keys: ["+", "="], says: "closer", run: () => zoom(index, 0.5) },
  { keys: ["-"], says: "further away", run: () => zoom(index, 2) },
  { keys: ["v"], says: "colour by kind or by version", run: () => (byVersion.value = !byVersion.value) },
];

/** @param {Index} index @param {number} factor */
function zoom(index, factor) {
  const [lo, hi] = view.value;
  view.value = zoomed(view.value, (lo + hi) / 2, factor, index.seconds);
}

/** Go to the next span of the same lane. @param {number} by */
function move(by) {
  const t = tile.value;
  if (!t) return;
  const [lo, hi] = view.value;
  const now = at.value < 0 ? t.start.findIndex((s) => s >= lo && s <= hi) : at.value;
  const own = [...t.start.keys()].filter((i) => t.track[i] === t.track[now]);
  own.sort((a, b) => /** @type {number} */ (t.start[a]) - /** @type {number} */ (t.start[b]));
  at.value = at.value < 0 ? now : (own[own.indexOf(now) + by] ?? now);
}

/** Zoom to a span that was found. @param {{start_s: number, seconds: number} | undefined} span */
function lookAt(span) {
  if (!span) return;
  const pad = Math.max(span.seconds, 1e-3);
  view.value = [span.start_s - pad, span.start_s + span.seconds + pad];
}

/** @param {{run: string, index: Index, n: number}} props */
function Toolbar({ run, index, n }) {
  const [found, setFound] = useState("");
  const asking = useRef(new AbortController());
  const search = async (/** @type {any} */ event) => {
    asking.current.abort(); // an older answer must not come after this one
    asking.current = new AbortController();
    const text = event.target.value.trim();
    if (!text) return setFound("");
    try {
      const { spans } = await get(`runs/${part(run)}/timeline/find?text=${part(text)}`, asking.current.signal);
      setFound(spans.length ? plural(spans.length, "span") : "nothing found");
      lookAt(spans.find((/** @type {any} */ s) => s.start_s >= view.value[0]) ?? spans[0]);
    } catch (/** @type {any} */ error) {
      if (error.name !== "AbortError") setFound(error.message);
    }
  };
  return html`
    <header class="bar">
      <input
        class="field"
        type="search"
        placeholder="Sample, task or name"
        aria-label="Search spans"
        data-search
        onChange=${search} />
      <span class="ink3 n">${found}</span>
      <span class="grow"></span>
      <button class="button" onClick=${() => (view.value = around(index, n))}>Step ${count(n)}</button>
      <button class="button" onClick=${() => (view.value = [-0.02 * index.seconds, 1.02 * index.seconds])}>
        Whole run
      </button>
      <button class="button" aria-pressed=${byVersion.value} onClick=${() => (byVersion.value = !byVersion.value)}>
        Colour by version
      </button>
    </header>
  `;
}

/** One line about what is under the pointer, or the sums of what is selected.
 * @param {{index: Index}} props */
function Hover({ index }) {
  const [sums, setSums] = useState(/** @type {any} */ (null));
  const range = selected.value;
  useEffect(() => {
    if (!range) return setSums(null);
    const gone = new AbortController();
    const path = `runs/${part(address.value.run)}/timeline/sums?lo=${range[0]}&hi=${range[1]}`;
    const timer = setTimeout(() => get(path, gone.signal).then(setSums, () => {}), 150);
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [range?.[0], range?.[1]]);
  return html`
    <p class="under n">${range ? selection(range, sums) : pointed(index)}</p>
  `;
}

/** @param {[number, number]} range @param {any} sums */
function selection([lo, hi], sums) {
  const parts = (sums?.names ?? []).slice(0, 5).map((/** @type {any} */ p) => `${p.name} ${duration(p.seconds)}`);
  return `${duration(hi - lo)} selected${parts.length ? `: ${parts.join(", ")}` : ""}`;
}

/** What goes on now, or was left open by a process that is gone. @param {Index} index */
function underWay(index) {
  const [oldest] = index.open;
  if (!oldest) return "";
  const more = index.open.length > 1 ? ` and ${count(index.open.length - 1)} more` : "";
  const what = `${oldest.name} on ${oldest.lane}${oldest.sample ? `, sample ${oldest.sample}` : ""}`;
  return oldest.alive
    ? `Now: ${what}, for ${duration(oldest.seconds)}${more}. `
    : `Left open when its process ended: ${what}${more}. `;
}

/** @param {Index} index */
function pointed(index) {
  const [t, i] = [tile.value, hovered.value];
  if (!t || i < 0 || i >= t.start.length)
    return `${underWay(index)}${plural(index.spans, "span")}, ${plural(index.tracks.length, "lane")}. ${HOW}`;
  const many = /** @type {number} */ (t.count[i]);
  const words = [
    `${index.names[/** @type {number} */ (t.name[i])]}`,
    duration(/** @type {number} */ (t.end[i]) - /** @type {number} */ (t.start[i])),
    index.tracks[/** @type {number} */ (t.track[i])]?.lane ?? "",
  ];
  if (many > 1) words[1] = `${count(many)} spans shorter than a pixel`;
  if (/** @type {number} */ (t.sample[i]) >= 0) words.push(`sample ${t.samples[/** @type {number} */ (t.sample[i])]}`);
  if (/** @type {number} */ (t.version[i]) >= 0) words.push(`version ${count(/** @type {number} */ (t.version[i]))}`);
  if (/** @type {number} */ (t.flags[i]) & 4) words.push("dropped");
  return words.join(", ");
}
