/** Tasks by evaluations: a row per task, a chip per step. The rows in view are one canvas, which
 * scrolling draws again; their summaries are text for those who do not see it. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { changeOf, endsOf, failedOf, failedTasks, meanOf } from "../base/evals/task-rows.js";
import { count, number, plural } from "../base/text/format.js";
import { ModelLine } from "../parts/model-text.js";
import { h, html } from "../parts/html.js";
import { theme } from "../prefs.js";
import { CHANGE, COLUMN, ROW, draw, forget } from "./matrix-ink.js";
import { changed } from "./words.js";

/** @typedef {import("../base/evals/task-rows.js").Matrix} Matrix */

const HEADS = 2 * ROW; // steps, and how many tasks failed
const BLOCK = 16; // columns of heads that come and go together
const SETTLED_MS = 120; // after the last scroll: then the summaries follow

/** @param {{m: Matrix, rows: number[], before: number, after: number, at: number,
 *   seen: Set<string>, pick: (row: number, step?: number) => void,
 *   pickStep: (step: number) => void, move: (by: number) => void,
 *   scrolled: (left: number) => void}} props */
export function TaskMatrix({ m, rows, before, after, at, seen, pick, pickStep, move, scrolled }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [box, setBox] = useState({ width: 700, height: 500, name: 224 });
  const [block, setBlock] = useState(0);
  const [top, setTop] = useState(0);
  const ends = useMemo(() => (m.graded ? /** @type {[number, number]} */ ([0, 1]) : endsOf(m)), [m]);
  const [b, a] = [m.steps.indexOf(before), m.steps.indexOf(after)];
  const over = useRef(-1);
  const redraw = () => {
    if (!host.current || !canvas.current) return;
    const { scrollLeft: left, scrollTop } = host.current;
    const height = Math.max(0, Math.min(box.height - HEADS, rows.length * ROW));
    const shown = { m, rows, before: b, after: a, at, over: over.current, seen, ends };
    draw(canvas.current, { left, top: scrollTop, width: box.width, height, name: box.name }, shown);
  };
  const ink = useRef(redraw);
  ink.current = redraw;
  useLayoutEffect(redraw, [m, rows, b, a, at, seen, box, theme.value]);
  useLayoutEffect(() => watched(host, setBox, ink), []);
  useEffect(() => {
    // The newest evaluations first.
    if (host.current) host.current.scrollLeft = host.current.scrollWidth;
  }, [m]);
  useEffect(() => reveal(host.current, at), [at]);
  const settle = useRef(0);
  useEffect(() => () => clearTimeout(settle.current), []);
  const scroll = (/** @type {any} */ e) => {
    const { scrollTop, scrollLeft } = e.target;
    ink.current();
    scrolled(scrollLeft);
    setBlock(Math.floor(scrollLeft / COLUMN / BLOCK));
    clearTimeout(settle.current);
    settle.current = setTimeout(() => setTop(scrollTop), SETTLED_MS);
  };
  const hit = (/** @type {any} */ e) => hitOf(e, host.current, box.name, m);
  const hover = (/** @type {any} */ e) => {
    const [row, column] = e.type === "pointerleave" ? [-1, -1] : hit(e);
    const t = rows[row];
    if (host.current) host.current.title = t === undefined || column < 0 ? "" : cellWords(m, t, column);
    if (over.current === row) return;
    over.current = row;
    ink.current();
  };
  const click = (/** @type {any} */ e) => {
    const option = e.target.closest?.("[role=option]");
    const [row, column] = e.detail || !option ? hit(e) : [Number(option.dataset.row), -1];
    if (rows[row] !== undefined) pick(row, m.steps[column]);
  };
  const keys = (/** @type {KeyboardEvent} */ e) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (!by || e.target !== host.current) return;
    e.preventDefault();
    e.stopPropagation();
    move(by);
  };
  const width = `calc(var(--name) + ${m.steps.length * COLUMN + CHANGE}px)`;
  return html`
    <div
      class="matrix"
      ref=${host}
      role="listbox"
      aria-label="Tasks by evaluations"
      aria-activedescendant=${at < 0 ? null : `task-${at}`}
      tabindex="0"
      data-count=${rows.length}
      onKeyDown=${keys}
      onScroll=${scroll}>
      ${h(Heads, { m, before, after, pickStep, from: (block - 1) * BLOCK, seen: box.width, width })}
      <div
        class="rows"
        style=${{ height: `${rows.length * ROW}px`, width }}
        onClick=${click}
        onPointerMove=${hover}
        onPointerLeave=${hover}>
        <canvas class="ink" ref=${canvas} aria-hidden="true"></canvas>
        ${h(Summaries, { m, rows, before: b, after: a, at, seen, top, height: box.height })}
      </div>
    </div>
  `;
}

/** Follow the size of the matrix, and the fonts. Returns how to stop.
 * @param {{current: HTMLDivElement | null}} host @param {(box: any) => void} setBox
 * @param {{current: () => void}} ink */
function watched(host, setBox, ink) {
  const watch = new ResizeObserver(() => {
    const view = host.current;
    if (!view) return;
    const name = /** @type {HTMLElement | null} */ (view.querySelector(".heads .name"))?.offsetWidth ?? 224;
    setBox({ width: view.clientWidth, height: view.clientHeight, name });
  });
  if (host.current) watch.observe(host.current);
  const remeasure = () => {
    forget();
    ink.current();
  };
  document.fonts.addEventListener("loadingdone", remeasure);
  return () => {
    watch.disconnect();
    document.fonts.removeEventListener("loadingdone", remeasure);
  };
}

/** Scroll a row into view. @param {HTMLDivElement | null} view @param {number} at */
function reveal(view, at) {
  if (!view || at < 0) return;
  const room = view.clientHeight - HEADS;
  if (at * ROW < view.scrollTop) view.scrollTop = at * ROW;
  else if ((at + 1) * ROW > view.scrollTop + room) view.scrollTop = (at + 1) * ROW - room;
}

/** The row and the column under the pointer; a column of -1 is the name or the change.
 * @param {MouseEvent} e @param {HTMLDivElement | null} view @param {number} name @param {Matrix} m
 * @returns {[number, number]} */
function hitOf(e, view, name, m) {
  if (!view) return [-1, -1];
  const box = view.getBoundingClientRect();
  const [x, y] = [e.clientX - box.left, e.clientY - box.top];
  const column = Math.floor((x - name + view.scrollLeft) / COLUMN);
  const isCell = x >= name && x < view.clientWidth - CHANGE && column < m.steps.length;
  return [Math.floor((y - HEADS + view.scrollTop) / ROW), isCell ? column : -1];
}

/** @param {Matrix} m @param {number} t @param {number} column */
function cellWords(m, t, column) {
  const [v, bad] = [meanOf(m, t, column), failedOf(m, t, column)];
  const score = Number.isNaN(v) ? "no score" : number(v);
  return `step ${count(m.steps[column] ?? 0)}: ${score}${bad ? `, ${bad} failed` : ""}`;
}

/** Steps and failed tasks, which stay on top. Only columns near the view are elements.
 * @param {{m: Matrix, before: number, after: number, pickStep: (step: number) => void,
 *   from: number, seen: number, width: string}} props */
function Heads({ m, before, after, pickStep, from: wanted, seen, width }) {
  const failures = useMemo(() => failedTasks(m), [m]);
  const from = Math.max(0, wanted);
  const to = Math.min(m.steps.length, from + Math.ceil(seen / COLUMN) + 3 * BLOCK);
  const picked = [m.steps.indexOf(before), m.steps.indexOf(after)];
  const columns = m.steps.slice(from, to).map((step, i) => ({
    step,
    failed: failures[from + i] ?? 0,
    named: isNamed(m, from + i, picked),
  }));
  const shift = { paddingLeft: `${from * COLUMN}px`, width: `${m.steps.length * COLUMN}px` };
  return html`
    <div class="heads" style=${{ width }}>
      <div class="taskrow">
        <span class="name ink3">Task</span>
        <span class="cells" style=${shift}>
          ${columns.map(
            ({ step, named }) => html`
              <button
                type="button"
                class=${step === before || step === after ? "step on" : "step"}
                title=${`Compare step ${count(step)}`}
                aria-label=${`Compare step ${count(step)}`}
                onClick=${() => pickStep(step)}>
                ${named ? count(step) : "·"}
              </button>
            `,
          )}
        </span>
        <span class="change ink3">change</span>
      </div>
      <div class="taskrow failures">
        <span class="name ink3">Tasks failed</span>
        <span class="cells" style=${shift}>
          ${columns.map(
            ({ failed }) => html`
              <span class=${failed ? "step bad" : "step"}>${failed}</span>
            `,
          )}
        </span>
        <span class="change"></span>
      </div>
    </div>
  `;
}

const LETTER = 6.5; // px

/** True if a column has room to name its step: as often as fits, and no neighbour of the two
 * compared steps, which are always named.
 * @param {Matrix} m @param {number} column @param {number[]} picked */
function isNamed(m, column, picked) {
  const width = LETTER * count(m.steps.at(-1) ?? 0).length + 4;
  const every = Math.ceil(width / COLUMN);
  const last = Math.max(...picked);
  if (picked.includes(column)) return column === last || last - column >= every;
  return (m.steps.length - 1 - column) % every === 0 && picked.every((at) => Math.abs(at - column) >= every);
}

/** Rows as text, over the ink and without ink: those in view, and the one that is open.
 * @param {{m: Matrix, rows: number[], before: number, after: number, at: number,
 *   seen: Set<string>, top: number, height: number}} props */
function Summaries({ m, rows, before, after, at, seen, top, height }) {
  const first = Math.max(0, Math.floor(top / ROW));
  const last = Math.min(rows.length, first + Math.ceil(height / ROW));
  const list = at >= 0 && (at < first || at >= last) ? [at] : [];
  for (let i = first; i < last; i++) list.push(i);
  return list.map((i) => {
    const t = /** @type {number} */ (rows[i]);
    return html`
      <div
        class="taskrow"
        role="option"
        id=${`task-${i}`}
        key=${i}
        data-row=${i}
        aria-selected=${String(i === at)}
        aria-setsize=${rows.length}
        aria-posinset=${i + 1}
        style=${{ top: `${i * ROW}px` }}>
        ${h(ModelLine, { text: `${m.tasks[t] ?? ""} ${m.labels[t] ?? ""}` })}: ${" "}
        ${rowWords(m, t, before, after)}${seen.has(m.tasks[t] ?? "") ? ", trained on" : ""}
      </div>
    `;
  });
}

/** What happened to a task. @param {Matrix} m @param {number} t @param {number} before
 * @param {number} after */
function rowWords(m, t, before, after) {
  const change = changeOf(m, t, before, after);
  let failed = 0;
  for (let column = 0; column < m.steps.length; column++) if (failedOf(m, t, column)) failed++;
  const pair = before === after ? [after] : [before, after];
  const said = pair.filter((column) => column >= 0).map((column) => cellWords(m, t, column));
  if (!Number.isNaN(change) && before !== after) said.push(`change ${changed(change)}`);
  if (failed) said.push(`failed at ${plural(failed, "step")}`);
  return said.join(", ");
}
