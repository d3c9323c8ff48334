/** The head of the left pane: tabs, which list, which order, filter words to remove, and the reward
 * histogram, which filters too. */

import { useEffect, useRef, useState } from "preact/hooks";
import { REWARD } from "../base/chart/color.js";
import { count, number } from "../base/text/format.js";
import { bin, stretch } from "../base/chart/histogram.js";
import { filter, query, typedWords } from "../base/samples/filter-words.js";
import { chosen, known, num, orders, reasons } from "../base/samples/step-samples.js";
import { preview, spelled } from "../base/text/model-text.js";
import { Segments } from "../parts/controls.js";
import { Environments } from "../parts/environments.js";
import { h, html } from "../parts/html.js";
import { ModelLine } from "../parts/model-text.js";
import { theme } from "../prefs.js";
import { go, view } from "../state.js";
import { marked } from "./kept/marks.js";
import { hitCounts } from "./search/hits.js";
import { chooseFate, fate, fateCounts, groups, loaded, phrase, pickedSamples, queryWords } from "./selection.js";
import { setTab, tab } from "./view-words.js";

/** @typedef {import("../base/samples/filter-words.js").Word} Word */
const BINS = 28;

/** Put words into the address. @param {Word[]} list */
const ask = (list) => {
  const env = list.find((w) => w.kind === "filter" && w.field === "env" && w.value === view.value.env);
  go({ q: query(list.filter((w) => w !== env)), env: env ? view.value.env : "", group: "", sample: "" });
};
/** Remove a word. @param {Word} w */
const drop = (w) => ask(queryWords.value.filter((other) => other !== w));
/** Add a word, in place of one about the same field. @param {Word} w */
const narrow = (w) =>
  ask([
    ...queryWords.value.filter(
      (other) =>
        !(other.kind === "filter" && w.kind === "filter" && other.field === w.field) &&
        !(other.kind === "phrase" && w.kind === "phrase"),
    ),
    w,
  ]);

export function ListHead() {
  const s = loaded.value?.step;
  const n = phrase.value ? hitCounts.value : fateCounts.value;
  /** @type {[string, number]} */
  const first = phrase.value ? ["Found", hitCounts.value.all] : ["Groups", groups.value.length];
  const tabs = html`
    <div class="tabs" role="tablist">
      ${h(Tab, { name: "groups", words: first[0], n: first[1] })} ${h(Tab, { name: "prompts", words: "Prompts", n: 0 })}
      ${h(Tab, { name: "marked", words: "Marked", n: marked.value.size })}
      <span class="gap"></span>
      ${s && tab.value === "groups" && !phrase.value ? h(Order, {}) : null}
    </div>
  `;
  if (tab.value === "prompts")
    return html`
      <div class="head">${tabs}</div>
    `;
  if (tab.value === "marked")
    return html`
      <div class="head marked">${tabs}${h(Find, {})}${h(Words, {})}</div>
    `;
  /** @type {[import("../base/samples/step-samples.js").Fate, string][]} */
  const options = [
    ["trained", `Trained ${count(n.trained)}`],
    ["dropped", `Dropped ${count(n.dropped)}`],
    ["all", `All ${count(n.all)}`],
  ];
  if (n.eval) options.push(["eval", `Eval ${count(n.eval)}`]);
  const pick = (/** @type {string} */ v) => chooseFate(/** @type {any} */ (v));
  return html`
    <div class="head">
      ${tabs}
      <div class="line">${h(Segments, { label: "which samples", value: fate.value, options, pick })}</div>
      ${h(Environments, {})} ${h(Find, {})} ${h(Words, {})}
      ${fate.value === "dropped" && s ? h(Reasons, {}) : null}${s && s.ids.length ? h(Histogram, {}) : null}
    </div>
  `;
}

/** A tab with what it counts.
 * @param {{name: import("./view-words.js").Tab, words: string, n: number}} props */
const Tab = ({ name, words, n }) => html`
  <button type="button" role="tab" aria-selected=${String(tab.value === name)} onClick=${() => setTab(name)}>
    ${words}${
      n
        ? html`
            ${" "}
            <span class="n ink3">${count(n)}</span>
          `
        : null
    }
  </button>
`;

/** The words of the query; a click removes one. */
function Words() {
  const s = loaded.value?.step;
  if (!queryWords.value.length) return null;
  return html`
    <div class="words">
      ${queryWords.value.map(
        (w) => html`
          <button
            class=${`word ${w.kind}${s && !known(s, w) ? " unknown" : ""}`}
            type="button"
            title=${s && !known(s, w) ? "No sample of this step has this field" : "Remove"}
            onClick=${() => drop(w)}>
            <span class="cut">${h(ModelLine, { text: w.kind === "phrase" ? `“${w.value}”` : w.text })}</span>
            ${" "}
            <span aria-hidden="true">×</span>
          </button>
        `,
      )}
    </div>
  `;
}

function Order() {
  const s = loaded.value?.step;
  if (!s) return null;
  return html`
    <select
      class="quiet"
      aria-label="Order of groups"
      value=${view.value.sort}
      onChange=${(/** @type {any} */ e) => go({ sort: e.target.value, group: "", sample: "" }, "replace")}>
      ${orders(s).map(
        ([key, text]) => html`
          <option value=${key} selected=${key === view.value.sort}>${spelled(preview(text, 60))}</option>
        `,
      )}
    </select>
  `;
}

function Find() {
  const [typed, setTyped] = useState("");
  const send = (/** @type {Event} */ e) => {
    e.preventDefault();
    const list = typedWords(typed);
    if (!list.length) return;
    setTyped("");
    const text = list.some((w) => w.kind === "phrase");
    ask([...queryWords.value.filter((w) => !(text && w.kind === "phrase")), ...list]);
  };
  return html`
    <form class="find" onSubmit=${send}>
      <input
        class="field"
        data-search
        value=${typed}
        onInput=${(/** @type {any} */ e) => setTyped(e.target.value)}
        placeholder="Find text, or reward<0.5 label:hack"
        aria-label="Find text in all samples of the run, or filter this step"
        spellcheck=${false}
        autocomplete="off" />
    </form>
  `;
}

/** The reasons why samples were dropped; each is a filter. */
function Reasons() {
  const s = loaded.value?.step;
  if (!s) return null;
  return html`
    <div class="words">
      ${reasons(s, pickedSamples.value)
        .slice(0, 6)
        .map(
          ([reason, n]) => html`
            <button
              class="word reason"
              type="button"
              onClick=${() => narrow(filter("reason", "=", reason === "no reason given" ? "" : reason))}>
              <span class="cut">${h(ModelLine, { text: reason.replaceAll("_", " ") })}</span>
              ${" "}
              <span class="n ink3">${count(n)}</span>
            </button>
          `,
        )}
    </div>
  `;
}

/** The rewards of the list; a drag filters by a range. */
function Histogram() {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const drag = useRef(/** @type {{a: number, b: number} | null} */ (null));
  const [dragged, setDragged] = useState(/** @type {[number, number] | null} */ (null));
  const s = loaded.value?.step;
  const [lo, hi] = s?.ranges.reward ?? [0, 1];
  const filtered = queryWords.value.find((w) => w.kind === "filter" && w.field === "reward" && w.value.includes(".."));
  useEffect(() => {
    if (!s || !canvas.current) return;
    const rewards = chosen(s, fate.value, []).map((i) => num(s, "reward", i));
    draw(canvas.current, bin(rewards, lo, hi, BINS), theme.value);
  }, [s, fate.value, theme.value]);
  const share = (/** @type {PointerEvent} */ e) => {
    const box = /** @type {HTMLElement} */ (e.currentTarget).getBoundingClientRect();
    return Math.max(0, Math.min(1, (e.clientX - box.left) / box.width));
  };
  const ends = filtered ? filtered.value.split("..").map(Number) : null;
  const on = dragged ?? (ends ? /** @type {[number, number]} */ (ends.map((v) => (v - lo) / (hi - lo))) : null);
  return html`
    <div
      class="histogram"
      title="Drag to filter by a range of rewards"
      onPointerDown=${(/** @type {any} */ e) => {
        e.currentTarget.setPointerCapture(e.pointerId);
        drag.current = { a: share(e), b: share(e) };
      }}
      onPointerMove=${(/** @type {any} */ e) => {
        if (drag.current) {
          drag.current.b = share(e);
          setDragged([Math.min(drag.current.a, drag.current.b), Math.max(drag.current.a, drag.current.b)]);
        }
      }}
      onPointerUp=${() => {
        const d = drag.current;
        drag.current = null;
        setDragged(null);
        if (!d) return;
        const [a, b] = stretch(d.a, d.b, lo, hi, BINS);
        narrow(filter("reward", ":", `${a}..${b}`));
      }}>
      <canvas ref=${canvas}></canvas>
      ${
        on
          ? html`
              <i class="kept" style=${{ left: `${on[0] * 100}%`, width: `${(on[1] - on[0]) * 100}%` }}></i>
            `
          : null
      }
      <span class="ends n">
        <span>${number(lo)}</span>
        <span>reward</span>
        <span>${number(hi)}</span>
      </span>
    </div>
  `;
}

/** @param {HTMLCanvasElement} canvas @param {number[]} counts @param {"light" | "dark"} mode */
function draw(canvas, counts, mode) {
  const box = canvas.getBoundingClientRect(),
    ratio = devicePixelRatio || 1;
  const [w, hgt] = [Math.max(1, box.width), 26];
  [canvas.width, canvas.height] = [w * ratio, hgt * ratio];
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  ctx.scale(ratio, ratio);
  const most = Math.max(1, ...counts);
  counts.forEach((n, i) => {
    if (!n) return;
    ctx.fillStyle = /** @type {string} */ (REWARD[mode][Math.min(6, Math.floor((i / counts.length) * 7))]);
    const size = Math.max(2, (n / most) * hgt);
    ctx.fillRect((i * w) / counts.length, hgt - size, w / counts.length - 1, size);
  });
  canvas.dataset.ink = `bins=${counts.filter(Boolean).length} n=${counts.reduce((a, b) => a + b, 0)}`;
}
