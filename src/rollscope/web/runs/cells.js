/** Cells of the list of runs. */

import { clock, count, duration, number } from "../base/text/format.js";
import { seconds, valueOf } from "../base/text/run-columns.js";
import { Status } from "../parts/controls.js";
import { isQuiet } from "../parts/frame/bar.js";
import { Sparkline, stateWords } from "../parts/frame/rail.js";
import { h, html } from "../parts/html.js";
import { now, pageOf } from "../state.js";
import { Delta, farthest, isBaseline } from "./deltas.js";

/** @typedef {import("../state.js").RunRow} RunRow */

/** @param {{r: RunRow, column: string, values: any, color: string}} props */
export function Cell({ r, column, values, color }) {
  if (column === "state") return h(StateWord, { r });
  if (column === "name") return h(Name, { r });
  if (column === "tags") return h(Tags, { tags: r.tags });
  if (column === "step") return count(r.step);
  if (column === "reward") return h(Sparkline, { values: r.spark, color, width: 92, height: 22 });
  if (column === "delta")
    return isBaseline(r) ? "baseline" : h(Delta, { delta: values.delta?.[r.id], far: farthest(values.delta ?? {}) });
  if (column === "findings") return h(FindingCounts, { findings: r.step === null ? null : r.findings });
  if (column === "started") return r.started_ns ? clock(r.started_ns / 1e6, now.value) : "–";
  if (column === "duration") {
    const took = seconds(r, now.value);
    return took === undefined ? "–" : duration(Math.round(took));
  }
  return text(valueOf(r, column, values, now.value));
}

/** A value as one text: numbers in the one format. @param {any} value */
export function text(value) {
  if (value === undefined || value === null || value === "") return "–";
  if (typeof value === "number") return Number.isInteger(value) && Math.abs(value) < 1e6 ? count(value) : number(value);
  return value === "Infinity" ? "+Inf" : value === "-Infinity" ? "−Inf" : String(value);
}

/** What a cell says when one points at it. @param {RunRow} r @param {string} column */
export function tip(r, column) {
  if (column === "reward" || column === "last") return r.headline;
  if (column === "eval") return r.eval;
  if (column === "note") return r.note;
  return column.startsWith("config.") ? text(r.config[column.slice(7)]) : undefined;
}

/** @param {{r: RunRow}} props */
const Name = ({ r }) => html`
  <a class="name" href=${pageOf(r.id, "overview")} title=${r.name === r.id ? r.id : `${r.name} (${r.id})`}>
    ${r.name || r.id}
  </a>
  ${
    r.reason
      ? html`
          <span class="reason cut" title=${r.reason}>${r.reason}</span>
        `
      : null
  }
`;

/** @param {{tags: string[]}} props */
const Tags = ({ tags }) => html`
  <span class="tags" title=${tags.join(", ")}>
    ${tags.slice(0, 3).map(
      (tag) => html`
        <span class="tag">${tag}</span>
      `,
    )}${
      tags.length > 3
        ? html`
            <span class="ink3">+${tags.length - 3}</span>
          `
        : null
    }
  </span>
`;

/** @param {{r: RunRow}} props */
function StateWord({ r }) {
  const quiet = r.state === "running" && isQuiet(r, (now.value - r.heard_ns / 1e6) / 1000);
  const kind = r.state === "running" ? (quiet ? "quiet" : "live") : r.state === "finished" ? "finished" : "crashed";
  return html`
    <span class=${`state ${kind}`} title=${stateWords(r)}>
      ${
        kind === "finished"
          ? null
          : html`
              <i class="dot"></i>
            `
      }${kind === "crashed" ? r.state : kind}
    </span>
  `;
}

/** Findings by severity; "–" if no rule has read the run.
 * @param {{findings: RunRow["findings"]}} props */
function FindingCounts({ findings }) {
  if (!findings)
    return html`
      <span class="ink3" title="the rules have not read this run yet">–</span>
    `;
  const some = ["bad", "watch"].filter((s) => findings[s]);
  if (!some.length)
    return html`
      <span class="ink3" title="the rules read this run; none applies">none</span>
    `;
  return html`
    <span class="counts">
      ${some.map(
        (s) => html`
          <span>
            ${h(Status, { is: s })}
            <span class="n">${findings[s]}</span>
          </span>
        `,
      )}
    </span>
  `;
}
