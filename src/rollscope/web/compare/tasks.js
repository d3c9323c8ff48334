/** The same tasks in A and B: who solved which, and a way to read both answers. */

import { useState } from "preact/hooks";
import { count, plural } from "../base/text/format.js";
import { elsewhere, format } from "../base/text/url.js";
import { ModelLine } from "../parts/model-text.js";
import { h, html } from "../parts/html.js";
import { useAnswer } from "../parts/use-answer.js";
import { view } from "../state.js";
import { ROOT } from "../wire/api.js";
import { query } from "./loading.js";
import { Letter } from "./card.js";

/** @typedef {import("../wire/types.gen").SolvedShape} SolvedShape */
/** @typedef {"both" | "only_a" | "only_b" | "neither"} Kind */

const MOST = 60;

/** @param {{ids: string[], set: string, colors: string[], first: string[]}} props */
export function SameTasks({ ids, set, colors, first }) {
  const [open, setOpen] = useState(/** @type {Kind | ""} */ (""));
  const path = `compare/tasks?${query(ids, view.value.by)}&set=${encodeURIComponent(set)}`;
  const [answer, error] = useAnswer(path);
  if (error || !answer) return null;
  const found = /** @type {SolvedShape} */ (answer);
  const total = found.both.length + found.only_a.length + found.only_b.length + found.neither.length;
  if (!total) return null;
  /** @type {[Kind, string, any][]} */
  const kinds = [
    ["both", "var(--edge)", "both"],
    ["only_b", colors[1] ?? "", h(Letter, { letter: "B", color: colors[1] ?? "" })],
    ["only_a", colors[0] ?? "", h(Letter, { letter: "A", color: colors[0] ?? "" })],
    ["neither", "var(--s2)", "neither"],
  ];
  return html`
    <section class="card same-tasks">
      <h2>
        The same ${plural(total, set ? "task" : "prompt")}${" "}
        <span class="ink3">${where(found)}, solved by most runs</span>
      </h2>
      <div class="flips" aria-hidden="true">
        ${kinds.map(([kind, color]) =>
          found[kind].length
            ? html`
                <i style=${{ flexGrow: found[kind].length, background: color }}></i>
              `
            : null,
        )}
      </div>
      <p class="flip-words n">
        ${kinds.map(
          ([kind, , words]) => html`
            <button
              type="button"
              aria-pressed=${String(open === kind)}
              onClick=${() => setOpen(open === kind ? "" : kind)}>
              <b>${count(found[kind].length)}</b>
              ${" "}${kind.startsWith("only") ? "only " : ""}${words}
            </button>
          `,
        )}
      </p>
      ${open ? list(found[open], found, first) : null}
    </section>
  `;
}

/** @param {SolvedShape} found */
const where = (found) =>
  found.step === null ? "of training, when last tried" : `${found.set} at step ${count(found.step)}`;

/** Tasks with a link to each run's answers. @param {string[]} tasks @param {SolvedShape} found
 * @param {string[]} first */
function list(tasks, found, first) {
  const place = (/** @type {string} */ task) =>
    found.set ? { page: "evals", name: found.set, open: `task:${task}` } : { page: "rollouts", view: "prompts" };
  const to = (/** @type {string} */ run, /** @type {string} */ task) =>
    new URL(format({ ...elsewhere(view.value, run, ""), ...place(task), run }), ROOT).href;
  return html`
    <ul class="task-links">
      ${tasks.slice(0, MOST).map(
        (task) => html`
          <li>
            <span class="mono">${h(ModelLine, { text: task })}</span>
            ${first.map(
              (run, i) => html`
                ${" "}
                <a href=${to(run, task)}>${i ? "B" : "A"} answered</a>
              `,
            )}
          </li>
        `,
      )}
      ${
        tasks.length > MOST
          ? html`
              <li class="ink3">and ${count(tasks.length - MOST)} more</li>
            `
          : null
      }
    </ul>
  `;
}
