/** The tasks of a set: which list of them, searched and by tag, over the matrix. */

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { byTag } from "../base/evals/tag-rows.js";
import { rowsOf } from "../base/evals/task-rows.js";
import { count, plural } from "../base/text/format.js";
import { bind } from "../keys.js";
import { h, html } from "../parts/html.js";
import { go, view } from "../state.js";
import { ROOT } from "../wire/api.js";
import { TaskMatrix } from "./matrix.js";

/** @typedef {import("../base/evals/task-rows.js").Matrix} Matrix */
/** @typedef {import("../base/evals/task-rows.js").Order} Order */

export const ORDERS = /** @type {[Order, string][]} */ ([
  ["changed", "Most changed"],
  ["lost", "Lost"],
  ["learnt", "Learnt"],
  ["never", "Never solved"],
  ["failed", "Failed"],
]);

/** The lists of scores that have no right and wrong. */
const UNGRADED = /** @type {[Order, string][]} */ ([
  ["changed", "Most changed"],
  ["lost", "Fell"],
  ["learnt", "Rose"],
  ["failed", "Failed"],
]);

/** What training has seen of the set. @param {import("../wire/types.gen").OverlapShape | null} o */
function seenWords(o) {
  if (!o?.prompts) return "";
  const all = o.exact.length + o.near.length;
  if (!all) return `; none is among the ${plural(o.prompts, "training prompt")}`;
  const how = `${count(o.exact.length)} word for word, ${count(o.near.length)} nearly`;
  return `; ${plural(all, "task")} seen in training (${how})`;
}

/** @param {{m: Matrix, pair: any, before: number, after: number,
 *   choose: (a: number, b: number) => void, scrolled: (left: number) => void, file: string,
 *   overlap: import("../wire/types.gen").OverlapShape | null}} props */
export function Tasks({ m, pair, before, after, choose, scrolled, file, overlap }) {
  const seen = useMemo(() => new Set([...(overlap?.exact ?? []), ...(overlap?.near ?? [])]), [overlap]);
  const lists = m.graded ? ORDERS : UNGRADED;
  const order = /** @type {Order} */ (lists.find(([o]) => o === view.value.sort)?.[0] ?? "changed");
  const [b, a] = [m.steps.indexOf(before), m.steps.indexOf(after)];
  const tagged = m.tags.some((tags) => tags.length);
  const { m: drawn, rows } = useMemo(() => {
    const list = rowsOf(m, order, b, a, pair.kinds, view.value.q);
    return tagged && view.value.by === "tag" ? byTag(m, list) : { m, rows: list };
  }, [m, order, before, after, pair, view.value.q, view.value.by]);
  const sizes = useMemo(
    () => Object.fromEntries(ORDERS.map(([o]) => [o, rowsOf(m, o, b, a, pair.kinds, "").length])),
    [m, before, after, pair],
  );
  const open = view.value.open.startsWith("task:") ? view.value.open.slice(5) : "";
  const place = useRef(-1); // a task with several tags has several rows
  const isOpen = (/** @type {number | undefined} */ t) => t !== undefined && open !== "" && m.tasks[t] === open;
  const at = isOpen(rows[place.current]) ? place.current : rows.findIndex(isOpen);
  const show = (/** @type {number} */ t, /** @type {number} */ step = NaN) =>
    t < m.tasks.length &&
    go({ open: `task:${m.tasks[t]}`, ...(Number.isNaN(step) ? {} : { step }) }, open ? "replace" : "push");
  const now = useRef({ rows, at, show });
  now.current = { rows, at, show };
  const move = (/** @type {number} */ by) => {
    const { rows: list, at: row, show: openTask } = now.current;
    let next = row + by;
    while ((list[next] ?? -1) >= m.tasks.length) next += by; // the row of a tag
    const task = list[next];
    if (task === undefined) return;
    place.current = next;
    openTask(task);
  };
  useLayoutEffect(
    () =>
      bind([
        { keys: ["j"], says: "next task", run: () => move(1) },
        { keys: ["k"], says: "previous task", run: () => move(-1) },
      ]),
    [],
  );
  const pick = (/** @type {number} */ row, /** @type {number | undefined} */ step) => {
    place.current = row;
    show(rows[row] ?? Infinity, step);
  };
  const pickStep = (/** @type {number} */ s) =>
    s < after ? choose(s, after) : choose(before === s ? after : before, s);
  const changed = pair.kinds.learnt.length + pair.kinds.lost.length;
  const moved = `${m.graded ? "flipped" : "rose or fell"} between step ${count(before)} and ${count(after)}`;
  return html`
    <div class="eval-filters">
      <div class="seg" role="group" aria-label="Tasks">
        ${lists.map(
          ([key, words]) => html`
            <button type="button" aria-pressed=${String(key === order)} onClick=${() => go({ sort: key }, "replace")}>
              ${words}${
                key === "changed"
                  ? ""
                  : html`
                      ${" "}
                      <span class=${key === "failed" && sizes[key] ? "n bad" : "n ink3"}>${count(sizes[key])}</span>
                    `
              }
            </button>
          `,
        )}
      </div>
      ${
        tagged
          ? html`
              <button
                class="button"
                type="button"
                aria-pressed=${String(view.value.by === "tag")}
                onClick=${() => go({ by: view.value.by === "tag" ? "" : "tag" }, "replace")}>
                By tag
              </button>
            `
          : null
      }
      <input
        class="field"
        data-search
        spellcheck=${false}
        placeholder="Task, prompt or tag"
        aria-label="Search tasks"
        value=${view.value.q}
        onInput=${(/** @type {any} */ e) => go({ q: e.target.value }, "replace")} />
      <a class="button" href=${new URL(`api/${file}`, ROOT).href} download>CSV</a>
    </div>
    ${
      rows.length
        ? h(TaskMatrix, { m: drawn, rows, before, after, at, seen, pick, pickStep, move, scrolled })
        : html`
            <p class="none ink2">${view.value.q ? "No task fits the search." : "No task is of this kind."}</p>
          `
    }
    <footer class="eval-foot n">
      <span class="ink3">${plural(changed, "task")} of ${count(pair.n)} ${moved}${seenWords(overlap)}</span>
      <span class="ink3">
        cell = mean of a task's repeats ${" "}
        <span class="ramp">
          ${[0, 1, 2, 3, 4, 5, 6].map(
            (r) => html`
              <i class=${`r r${r}`}></i>
            `,
          )}
        </span>
      </span>
    </footer>
  `;
}
