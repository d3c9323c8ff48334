/** Failures on one x: by cause as stacked bars, what was trained on as zeros, tasks as rows. */

import { useEffect, useRef, useState } from "preact/hooks";
import { count } from "../../base/text/format.js";
import { go } from "../../state.js";
import { html } from "../html.js";

/** @typedef {import("../../wire/types.gen").EnvironmentShape} Environment */

const GUTTER = 116;
const BARS = 84;
const STRIP = 10;
const NAMED = 13;
const NAMED_TASKS = 4; // rows with a name; the others are thin
const THIN = 6;

/** @param {{e: Environment, colors: string[]}} props */
export function Block({ e, colors }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      if (entry) setWidth(entry.contentRect.width);
    });
    if (host.current) watch.observe(host.current);
    return () => watch.disconnect();
  }, []);
  const named = e.tasks.slice(0, NAMED_TASKS);
  const thin = e.tasks.slice(NAMED_TASKS);
  const height = BARS + 8 + STRIP + 8 + named.length * NAMED + 6 + thin.length * THIN + 20;
  return html`
    <div class="env-block" ref=${host}>
      ${
        width > GUTTER + 40
          ? html`
              <svg
                width=${width}
                height=${height}
                viewBox=${`0 0 ${width} ${height}`}
                role="img"
                aria-label=${`${count(e.failed)} of ${count(e.total)} samples failed`}>
                ${drawing(e, colors, width, named, thin)}
              </svg>
            `
          : null
      }
    </div>
  `;
}

/** @param {Environment} e @param {string[]} colors @param {number} width
 * @param {Environment["tasks"]} named @param {Environment["tasks"]} thin */
function drawing(e, colors, width, named, thin) {
  const each = (width - GUTTER) / Math.max(1, e.steps.length);
  const x = (/** @type {number} */ i) => GUTTER + i * each;
  const most = Math.max(1, ...e.steps.map((_, i) => e.causes.reduce((n, c) => n + (c.failed[i] ?? 0), 0)));
  const strip = BARS + 8;
  const rows = strip + STRIP + 8;
  const under = rows + named.length * NAMED + 6;
  const foot = under + thin.length * THIN + 14;
  return html`
    <text class="quiet" x="0" y="10">failed, of at most ${count(most)}</text>
    ${e.steps.map((step, i) => bar(e, i, step, x(i), each, most, colors))}
    <text class="zeros" x="0" y=${strip + 9}>trained as zeros</text>
    <rect class="ground" x=${GUTTER} y=${strip} width=${width - GUTTER} height=${STRIP} />
    ${e.zeros.map((n, i) =>
      n ? cell("zero", x(i), strip, each, STRIP, n / Math.max(1, e.samples[i] ?? 1), "var(--bad)") : null,
    )}
    ${named.map((task, k) => taskRow(task, rows + k * NAMED, NAMED, x, each, true))}
    ${thin.map((task, k) => taskRow(task, under + k * THIN, THIN, x, each, false))}
    ${
      thin.length
        ? html`
            <text class="quiet" x="0" y=${under + 10}>${count(thin.length)} other tasks</text>
          `
        : null
    }
    <text class="quiet" x=${GUTTER} y=${foot}>step ${count(e.steps[0] ?? 0)}</text>
    <text class="quiet" x=${width} y=${foot} text-anchor="end">${count(Math.max(0, e.until - 1))}</text>
  `;
}

/** One column: a bar for each cause, from the bottom up. A click goes to its step.
 * @param {Environment} e @param {number} i @param {number} step @param {number} x
 * @param {number} each @param {number} most @param {string[]} colors */
function bar(e, i, step, x, each, most, colors) {
  let floor = BARS;
  return html`
    <g class="column" onClick=${() => go({ step }, "replace")}>
      <rect class="hit" x=${x} y="0" width=${each} height=${BARS} />
      ${e.causes.map((c, k) => {
        const n = c.failed[i] ?? 0;
        if (!n) return null;
        const height = (n / most) * (BARS - 16);
        floor -= height;
        return html`
          <g>
            <title>step ${count(step)}: ${count(n)}, ${c.name}</title>
            <rect x=${x} y=${floor} width=${Math.max(1, each - 1)} height=${height} fill=${colors[k]} />
          </g>
        `;
      })}
    </g>
  `;
}

/** @param {Environment["tasks"][number]} task @param {number} y @param {number} height
 * @param {(i: number) => number} x @param {number} each @param {boolean} named */
function taskRow(task, y, height, x, each, named) {
  const share = `${Math.round((100 * task.failed) / Math.max(1, task.total))} %`;
  return html`
    ${
      named
        ? html`
            <text class="task" x="0" y=${y + 10}>${short(task.name)}</text>
            <text class="quiet" x=${GUTTER - 6} y=${y + 10} text-anchor="end">${share}</text>
          `
        : null
    }
    ${task.share.map((s, i) =>
      typeof s === "number" && s > 0 ? cell(task.name, x(i), y, each, height, s, "var(--watch)") : null,
    )}
  `;
}

/** A cell whose strength is a share.
 * @param {string} says @param {number} x @param {number} y @param {number} width
 * @param {number} height @param {number} share @param {string} fill */
const cell = (says, x, y, width, height, share, fill) => html`
  <g>
    <title>${says}: ${Math.round(100 * share)} %</title>
    <rect
      x=${x}
      y=${y}
      width=${Math.max(1, width - 1)}
      height=${Math.max(2, height - 1)}
      fill=${fill}
      opacity=${0.25 + 0.75 * Math.min(1, share)} />
  </g>
`;

const short = (/** @type {string} */ name) => (name.length > 12 ? `${name.slice(0, 11)}…` : name);
