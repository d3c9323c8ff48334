/** Rollouts of the step: its samples, worst or best first, and one of them whole. There is always a selection. */

import { useEffect, useState } from "preact/hooks";
import { count } from "../base/format.js";
import { bind } from "../keys.js";
import { go, step, view } from "../state.js";
import { part } from "../wire/api.js";
import { SampleBody, useAnswer } from "../parts/details.js";
import { h, html } from "../parts/html.js";
import { SampleLine } from "../parts/samplerow.js";
import { Segments } from "../parts/status.js";

export const pane = true;

export function Page() {
  const { run, sample, sort } = view.value;
  const [at, setAt] = useState(step.value);
  useEffect(() => { const wait = setTimeout(() => setAt(step.value), 120); return () => clearTimeout(wait); }, [step.value]);
  const order = sort || "worst";
  const [list, error] = useAnswer(`runs/${part(run)}/samples?step=${at}&order=${order}&limit=200`);
  const rows = list?.samples ?? [];
  const chosen = rows.some((/** @type {any} */ s) => s.id === sample) ? sample : rows[0]?.id ?? "";
  const move = (/** @type {number} */ by) => { const i = rows.findIndex((/** @type {any} */ s) => s.id === chosen); const next = rows[Math.max(0, Math.min(rows.length - 1, i + by))]; if (next) go({ sample: next.id }, "replace"); };
  useEffect(() => bind([{ keys: ["j"], says: "next sample", run: () => move(1) }, { keys: ["k"], says: "previous sample", run: () => move(-1) }]), [rows, chosen]);
  if (error) return html`<p class="bare-page" style=${{ padding: "24px" }}>${error}</p>`;
  if (!list) return null;
  if (!rows.length) return html`<div class="bare-page" style=${{ padding: "24px" }}><h1>No samples at step ${count(at)}</h1><p class="ink2"><code>run.log_samples(step=${at}, samples=[...])</code> draws this page. Other steps may have some: move the caret on the tape.</p></div>`;
  return html`<div class="glossary"><div class="left"><div class="head">${h(Segments, { label: "order", value: order, options: [["worst", "Worst"], ["best", "Best"], ["longest", "Longest"]], pick: (v) => go({ sort: v === "worst" ? "" : v, sample: "" }, "replace") })}<span class="small ink3">${count(rows.length)} of ${count(list.total)} samples of step ${count(at)}</span></div>
    <div class="list">${rows.map((/** @type {any} */ s) => html`<div class=${s.id === chosen ? "pick at" : "pick"} key=${s.id}>${h(SampleLine, { sample: s, label: "", open: () => go({ sample: s.id }, "replace") })}</div>`)}</div></div>
    <div class="right">${chosen ? h(SampleBody, { id: chosen, title: () => {}, key: chosen }) : null}</div></div>`;
}
