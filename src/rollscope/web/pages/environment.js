/** Environment: failures by cause over time, by task, by worker and by tool, and what was trained
 * on as zeros. */

import { useEffect, useState } from "preact/hooks";
import { series } from "../base/chart/color.js";
import { count, duration, percent, plural } from "../base/text/format.js";
import { theme } from "../prefs.js";
import { href, returned, tape, view } from "../state.js";
import { get, part } from "../wire/api.js";
import { Block } from "../parts/environment/block.js";
import { h, html } from "../parts/html.js";

/** @typedef {import("../wire/types.gen").EnvironmentShape} Environment */

/** The answer for the run, asked for again when the run has another last step.
 * @returns {[Environment | null, string]} */
function useEnvironment() {
  const [e, setE] = useState(/** @type {Environment | null} */ (null));
  const [error, setError] = useState("");
  useEffect(() => {
    const abort = new AbortController();
    get(`runs/${part(view.value.run)}/environment`, abort.signal).then(
      (answer) => {
        setE(answer);
        setError("");
      },
      (problem) => {
        if (problem.name !== "AbortError") setError(problem.message);
      },
    );
    return () => abort.abort();
  }, [view.value.run, tape.value?.last, returned.value]);
  return [e, error];
}

export function Page() {
  const [e, error] = useEnvironment();
  if (error)
    return html`
      <p class="bare-page">${error}</p>
    `;
  if (!e) return null;
  const colors = e.causes.map((_, i) => series(i + 1, theme.value).color);
  return html`
    <div class="verdict">
      <h1 class="model">${e.title}</h1>
      <p class="prose">${e.context}</p>
    </div>
    ${e.failed ? h(Failures, { e, colors }) : null}
    <div class="looked">
      ${table("Workers", plural(e.workers.length, "writer"), ["Worker", "Samples", "Failed", "p50", "p95"], workers(e))}
      ${table("Tools", plural(e.tools.length, "tool"), ["Tool", "Calls", "Failed", "p50", "p95"], tools(e))}
    </div>
  `;
}

/** @param {{e: Environment, colors: string[]}} props */
function Failures({ e, colors }) {
  const share = `${((100 * e.failed) / Math.max(1, e.total)).toFixed(1)} %`;
  return html`
    <div class="card env-card">
      <h2>
        Failures by cause${" "}
        <span class="n">${count(e.failed)} of ${count(e.total)} samples, ${share}</span>
      </h2>
      ${h(Block, { e, colors })}
    </div>
    <div class="card env-card">
      <table class="env-causes">
        <thead>
          <tr>
            ${["Cause", "Samples", "Trained as zeros", "In steps", "In tasks", "Reads as", ""].map(
              (t) => html`
                <th>${t}</th>
              `,
            )}
          </tr>
        </thead>
        <tbody>${e.causes.map((c, i) => causeRow(e, c, colors[i] ?? ""))}</tbody>
      </table>
    </div>
  `;
}

/** @param {Environment} e @param {Environment["causes"][number]} c @param {string} color */
const causeRow = (e, c, color) => html`
  <tr>
    <td>
      <span class="swatch" style=${{ "--c": color }}></span>
      ${" "}
      <code class="model">${c.name}</code>
    </td>
    <td>${count(c.count)}</td>
    <td class=${c.zeros ? "bad" : ""}>${c.zeros ? count(c.zeros) : c.masked ? "masked" : "0"}</td>
    <td>${of(c.steps, e.step_count)}</td>
    <td>${of(c.tasks, e.task_count)}</td>
    <td>${c.reads || "–"}</td>
    <td>
      ${
        c.samples[0]
          ? html`
              <a href=${href({ page: "rollouts", sample: c.samples[0], open: "" })}>See the samples</a>
            `
          : null
      }
    </td>
  </tr>
`;

/** A bar and its numbers. @param {number} n @param {number} all */
const of = (n, all) => html`
  <span class="env-of">
    <span class="env-bar"><span style=${{ width: `${(100 * n) / Math.max(1, all)}%` }}></span></span>
    ${count(n)} of ${count(all)}
  </span>
`;

/** @param {Environment} e */
const workers = (e) =>
  e.workers.map((w) => [w.name.slice(0, 24), count(w.total), rate(w.failed, w.total), ...times(w)]);
/** @param {Environment} e */
const tools = (e) => e.tools.map((t) => [t.name, count(t.calls), rate(t.failed, t.calls), ...times(t)]);
/** @param {number} n @param {number} all */
const rate = (n, all) => (all ? `${percent(n / all)} %` : "–");
/** @param {{p50: any, p95: any}} row */
const times = (row) => [row.p50, row.p95].map(duration);

/** @param {string} title @param {string} n @param {string[]} head @param {string[][]} rows */
function table(title, n, head, rows) {
  if (!rows.length) return null;
  return html`
    <section class="section">
      <h2>
        ${title}
        <span class="n">${n}</span>
      </h2>
      <table class="env-table">
        <thead>
          <tr>
            ${head.map(
              (t) => html`
                <th>${t}</th>
              `,
            )}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row) => html`
              <tr>
                ${row.map(
                  (cell) => html`
                    <td class="model">${cell}</td>
                  `,
                )}
              </tr>
            `,
          )}
        </tbody>
      </table>
    </section>
  `;
}
