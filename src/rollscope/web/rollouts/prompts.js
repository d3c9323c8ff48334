/** The Prompts tab: the visits of every prompt as a strip, in three lists: solved, forgotten
 * (solved before, not now), never solved. */

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { REWARD } from "../base/chart/color.js";
import { unpack } from "../base/chart/points.js";
import { count, plural } from "../base/text/format.js";
import { cells, hit } from "../base/samples/visit-strip.js";
import { spelled } from "../base/text/model-text.js";
import { colors } from "../charts/theme-colors.js";
import { Segments } from "../parts/controls.js";
import { h, html } from "../parts/html.js";
import { ModelLine } from "../parts/model-text.js";
import { theme } from "../prefs.js";
import { go, step, ticks, view } from "../state.js";
import { columns, get, part } from "../wire/api.js";
import { firstWords, previewPrompts } from "./loading.js";
import { score, shade } from "./reward-chips.js";
import { loaded } from "./selection.js";
import { chosenKind, setKind, wordsForAll } from "./view-words.js";
import { WindowedList } from "./windowed-list.js";

/** @typedef {{tasks: string[], status: string[], samples: string[], first: number, last: number,
 *   range: [number, number], starts: number[], step: Float64Array, mean: Float64Array,
 *   n: Uint32Array, passed: Float64Array}} History */
const ROW = 48;
const NONE = {
  forgotten: "No solved prompt has been forgotten.",
  never: "Every prompt has been solved at least once.",
  solved: "No prompt is solved yet.",
};
const [WIDTH, HEIGHT] = [276, 14];

export function Prompts() {
  const [all, setAll] = useState(/** @type {History | null} */ (null));
  const [error, setError] = useState("");
  const run = view.value.run;
  useEffect(() => {
    const abort = new AbortController();
    columns(`runs/${part(run)}/prompts`, abort.signal).then(
      (buffer) => setAll(historyOf(unpack(buffer))),
      (e) => {
        if (e.name !== "AbortError") setError(e.message);
      },
    );
    return () => abort.abort();
  }, [run, ticks.value]);
  const lists = useMemo(
    () => (all ? { forgotten: pick(all, "forgotten"), never: pick(all, "never"), solved: pick(all, "solved") } : null),
    [all],
  );
  const s = loaded.value?.step;
  const task = s?.tasks[s.groups.indexOf(view.value.group)] ?? "";
  if (error)
    return html`
      <p class="nothing">${error}</p>
    `;
  if (!all || !lists) return null;
  if (!all.tasks.length)
    return html`
      <p class="nothing">
        No sample has a task and a reward yet. Record them with ${" "}
        <code>run.log_samples(step=..., samples=[{"task": ..., "reward": ...}])</code>
        .
      </p>
    `;
  const now = /** @type {"forgotten" | "never" | "solved"} */ (
    chosenKind.value || (lists.forgotten.length ? "forgotten" : lists.never.length ? "never" : "solved")
  );
  const list = lists[now];
  return html`
    <div class="line kinds">
      ${h(Segments, {
        label: "which prompts",
        value: now,
        options: [
          ["solved", `Solved ${count(lists.solved.length)}`],
          ["forgotten", `Forgotten ${count(lists.forgotten.length)}`],
          ["never", `Never ${count(lists.never.length)}`],
        ],
        pick: setKind,
      })}
    </div>
    ${
      list.length
        ? h(WindowedList, {
            count: list.length,
            row: ROW,
            at: list.findIndex((t) => all.tasks[t] === task),
            label: "Prompts",
            id: "prompts",
            seen: (a, b) => {
              previewPrompts(
                list
                  .slice(a, b)
                  .map((t) => all.samples[t] ?? "")
                  .filter(Boolean),
              );
            },
            render: (i) =>
              h(Row, {
                all,
                t: /** @type {number} */ (list[i]),
                on: all.tasks[list[i] ?? -1] === task,
                key: list[i] ?? i,
              }),
          })
        : html`
            <p class="nothing">${NONE[now]}</p>
          `
    }
  `;
}

/** @param {{head: any, columns: any}} answer @returns {History} */
function historyOf({ head, columns: c }) {
  const starts = [0];
  for (const n of c.count) starts.push((starts[starts.length - 1] ?? 0) + n);
  return { ...head, starts, step: c.step, mean: c.mean, n: c.n, passed: c.passed };
}

/** Prompts of a kind: those with the lowest last mean first, of equal means the most recent.
 * @param {History} all @param {string} status */
function pick(all, status) {
  const last = (/** @type {number} */ t) => (all.starts[t + 1] ?? 1) - 1;
  return all.tasks
    .map((_, t) => t)
    .filter((t) => all.status[t] === status)
    .sort(
      (a, b) =>
        (all.mean[last(a)] ?? 0) - (all.mean[last(b)] ?? 0) || (all.step[last(b)] ?? 0) - (all.step[last(a)] ?? 0),
    );
}

/** A prompt and its strip. @param {{all: History, t: number, on: boolean}} props */
function Row({ all, t, on }) {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [a, b] = [all.starts[t] ?? 0, all.starts[t + 1] ?? 0];
  const list = useMemo(
    () =>
      cells(all.step.subarray(a, b), all.mean.subarray(a, b), all.n.subarray(a, b), {
        first: all.first,
        last: all.last,
        width: WIDTH,
        height: HEIGHT,
      }),
    [all, t],
  );
  useEffect(() => {
    if (canvas.current) draw(canvas.current, list, all, step.value);
  }, [list, theme.value, step.value]);
  const open = useCallback(
    (/** @type {MouseEvent} */ e) => {
      const c = hit(list, (e.offsetX / /** @type {HTMLElement} */ (e.target).offsetWidth) * WIDTH, 12);
      if (c) {
        e.stopPropagation();
        visit(all.tasks[t] ?? "", c.step);
      }
    },
    [list],
  );
  return html`
    <div
      class=${on ? "group prompt at" : "group prompt"}
      role="option"
      aria-selected=${String(on)}
      data-task=${all.tasks[t]}
      onClick=${() => visit(all.tasks[t] ?? "", all.step[b - 1] ?? 0)}>
      <div class="under">
        <span class="cut" title=${spelled(all.tasks[t] ?? "")}>
          ${h(ModelLine, { text: firstWords.value.get(all.samples[t] ?? "") || (all.tasks[t] ?? "") })}
        </span>
        <span class="n score">${score(all.mean[b - 1] ?? NaN)}</span>
      </div>
      <canvas
        ref=${canvas}
        class="strip"
        data-visits=${b - a}
        title=${`${plural(b - a, "visit")}; click to open one`}
        onClick=${open}></canvas>
    </div>
  `;
}

/** Open the prompt's group at a step, or only the step if the group is not known.
 * @param {string} task @param {number} at */
async function visit(task, at) {
  const path = `runs/${part(view.value.run)}/prompts/visits?task=${part(task.toWellFormed())}&near=${at}`;
  const history = task.isWellFormed() ? await get(path).catch(() => null) : null;
  const group = history?.visits.find((/** @type {any} */ v) => v.step === at)?.group ?? "";
  go({ step: at, group, sample: "", q: "", view: wordsForAll() });
}

/** Draw the strip.
 * @param {HTMLCanvasElement} canvas @param {import("../base/samples/visit-strip.js").Cell[]} list
 * @param {History} all @param {number} at */
function draw(canvas, list, all, at) {
  const ratio = devicePixelRatio || 1;
  [canvas.width, canvas.height] = [WIDTH * ratio, HEIGHT * ratio];
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  ctx.scale(ratio, ratio);
  const tokens = colors();
  ctx.fillStyle = tokens.line ?? "";
  ctx.fillRect(0, HEIGHT - 1, WIDTH, 1);
  if (all.last > all.first) {
    ctx.fillStyle = tokens.ink3 ?? "";
    ctx.fillRect(Math.round(((at - all.first) / (all.last - all.first)) * (WIDTH - 1)), 0, 1, HEIGHT);
  }
  for (const c of list) {
    const s = shade(c.mean, all.range[0], all.range[1]);
    ctx.fillStyle = s < 0 ? (tokens.s2 ?? "") : /** @type {string} */ (REWARD[theme.value][s]);
    ctx.fillRect(c.x, HEIGHT - c.height, Math.max(2, c.width - 1), c.height);
  }
}
