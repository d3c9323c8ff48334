/** Tasks by evaluations: a row per task, a chip per step. Only cells in view are elements. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { changeOf, failedOf, meanOf } from "../base/evals/task-rows.js";
import { count, number } from "../base/text/format.js";
import { ModelLine } from "../parts/model-text.js";
import { h, html } from "../parts/html.js";
import { changed, shadeOf } from "./words.js";

/** @typedef {import("../base/evals/task-rows.js").Matrix} Matrix */

export const COLUMN = 30;
const ROW = 24;
const BESIDE = 224 + 50; // the name and the change

/** The mark of a task that training has seen. */
const SEEN = html`
  <b class="trained-on" title="its prompt is among those of training">trained on</b>
`;

/** @param {{m: Matrix, rows: number[], before: number, after: number, open: string, at: number,
 *   seen: Set<string>,
 *   pick: (task: number) => void, pickStep: (step: number) => void,
 *   scrolled: (left: number) => void}} props */
export function TaskMatrix({ m, rows, before, after, open, at, seen, pick, pickStep, scrolled }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [box, setBox] = useState({ top: 0, left: 0, width: 700, height: 500 });
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      if (entry) setBox((b) => ({ ...b, width: entry.contentRect.width, height: entry.contentRect.height }));
    });
    if (host.current) watch.observe(host.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    // The newest evaluations first.
    if (host.current) host.current.scrollLeft = host.current.scrollWidth;
  }, [m]);
  useEffect(() => {
    const view = host.current;
    if (!view || at < 0) return;
    if (at * ROW < view.scrollTop) view.scrollTop = at * ROW;
    else if ((at + 1) * ROW > view.scrollTop + view.clientHeight - 48)
      view.scrollTop = (at + 1) * ROW - view.clientHeight + 48;
  }, [at]);
  const first = Math.max(0, Math.floor(box.top / ROW) - 4);
  const last = Math.min(rows.length, first + Math.ceil(box.height / ROW) + 8);
  const from = Math.max(0, Math.floor(box.left / COLUMN) - 1);
  const to = Math.min(m.steps.length, from + Math.ceil(box.width / COLUMN) + 2);
  const [lo, hi] = useMemo(() => (m.graded ? [0, 1] : ends(m)), [m]);
  const failures = useMemo(() => failedTasks(m), [m]);
  const columns = m.steps.slice(from, to).map((step, i) => ({ step, i: from + i }));
  const shift = { paddingLeft: `${from * COLUMN}px`, width: `${m.steps.length * COLUMN}px` };
  const cells = (/** @type {number} */ t) =>
    columns.map(({ step, i }) => {
      const [v, bad] = [meanOf(m, t, i), failedOf(m, t, i)];
      const says = `step ${count(step)}: ${Number.isNaN(v) ? "no score" : number(v)}${bad ? `, ${bad} failed` : ""}`;
      const look =
        bad && Number.isNaN(v) ? "r hatched" : shadeOf(v, lo, hi) < 0 ? "r absent" : `r r${shadeOf(v, lo, hi)}`;
      return html`
        <i class=${`${look}${step === before || step === after ? " on" : ""}`} title=${says}>${bad || ""}</i>
      `;
    });
  const list = [];
  for (let i = first; i < last; i++) {
    const t = /** @type {number} */ (rows[i]);
    const change = changeOf(m, t, m.steps.indexOf(before), m.steps.indexOf(after));
    list.push(html`
      <div
        class=${`taskrow${m.tasks[t] === open ? " at" : ""}`}
        role="option"
        aria-selected=${String(m.tasks[t] === open)}
        key=${m.tasks[t]}
        style=${{ top: `${i * ROW}px` }}
        onClick=${() => pick(t)}>
        <span class="name">
          ${seen.has(m.tasks[t] ?? "") ? SEEN : null}
          <span class="mono ink3">${h(ModelLine, { text: m.tasks[t] ?? "" })}</span>
          ${" "}${h(ModelLine, { text: m.labels[t] ?? "" })}
        </span>
        <span class="cells" style=${shift}>${cells(t)}</span>
        <span class=${`change n ${change < 0 ? "fell" : change > 0 ? "rose" : ""}`}>
          ${Number.isNaN(change) ? "–" : changed(change)}
        </span>
      </div>
    `);
  }
  const failed = columns.map(({ i }) => failures[i] ?? 0);
  return html`
    <div
      class="matrix"
      ref=${host}
      role="listbox"
      aria-label="Tasks by evaluations"
      tabindex="0"
      data-count=${rows.length}
      onScroll=${(/** @type {any} */ e) => {
        const { scrollTop: top, scrollLeft: left } = e.target;
        setBox((b) => ({ ...b, top, left }));
        scrolled(left);
      }}>
      <div class="heads" style=${{ width: `${BESIDE + m.steps.length * COLUMN}px` }}>
        <div class="taskrow">
          <span class="name ink3">Task</span>
          <span class="cells" style=${shift}>
            ${columns.map(
              ({ step }) => html`
                <button
                  type="button"
                  class=${step === before || step === after ? "step on" : "step"}
                  title=${`Compare step ${count(step)}`}
                  onClick=${() => pickStep(step)}>
                  ${number(step)}
                </button>
              `,
            )}
          </span>
          <span class="change ink3">change</span>
        </div>
        <div class="taskrow failures">
          <span class="name ink3">Tasks failed</span>
          <span class="cells" style=${shift}>
            ${failed.map(
              (n) => html`
                <span class=${n ? "step bad" : "step"}>${n}</span>
              `,
            )}
          </span>
        </div>
      </div>
      <div class="rows" style=${{ height: `${rows.length * ROW}px`, width: `${BESIDE + m.steps.length * COLUMN}px` }}>
        ${list}
      </div>
    </div>
  `;
}

/** How many tasks had no score at each step because they failed. @param {Matrix} m */
const failedTasks = (m) =>
  m.steps.map((_, i) => m.tasks.filter((_t, t) => failedOf(m, t, i) && Number.isNaN(meanOf(m, t, i))).length);

/** The lowest and the highest mean. @param {Matrix} m @returns {[number, number]} */
function ends(m) {
  let [lo, hi] = [Infinity, -Infinity];
  for (const v of m.mean) {
    if (v < lo) lo = v;
    if (v > hi) hi = v;
  }
  return lo <= hi ? [lo, hi] : [0, 1];
}
