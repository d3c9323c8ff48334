/** Differences to the baseline of a project: asked for, and shown with their interval. */

import { useEffect, useState } from "preact/hooks";
import { count } from "../base/text/format.js";
import { signed } from "../evals/words.js";
import { html } from "../parts/html.js";
import { runs } from "../state.js";
import { get } from "../wire/api.js";
import { entries, tell, undo } from "../wire/project.js";
import { done } from "./actions.js";

/** @typedef {import("../wire/types.gen").DeltaShape} DeltaShape */
/** By run and by configuration. @typedef {{any: boolean, runs: Record<string, DeltaShape>,
 *   groups: Record<string, DeltaShape>}} Deltas */

/** @type {Deltas} */
const NONE = { any: false, runs: {}, groups: {} };

/** The deltas of all projects that have a baseline. @returns {Deltas} */
export function useDeltas() {
  const [deltas, setDeltas] = useState(NONE);
  const chosen = JSON.stringify(Object.values(entries("baseline")).map((e) => e.value));
  useEffect(() => {
    if (chosen === "[]") return setDeltas(NONE);
    const abort = new AbortController();
    get("runs/deltas", abort.signal).then(
      ({ projects }) => setDeltas(joined(Object.values(projects))),
      () => {},
    );
    return () => abort.abort();
  }, [chosen, runs.value]);
  return deltas;
}

/** @param {any[]} projects @returns {Deltas} */
const joined = (projects) => ({
  any: projects.length > 0,
  runs: Object.assign({}, ...projects.map((p) => p.runs)),
  groups: Object.assign({}, ...projects.map((p) => p.groups)),
});

/** Is a run the baseline of its project? @param {import("../state.js").RunRow} r */
export const isBaseline = (r) => entries("baseline")[r.project]?.value === r.id;

/** Hold the runs of a project against this one, or against none.
 * @param {import("../state.js").RunRow} r */
export async function setBaseline(r) {
  const off = isBaseline(r);
  const made = await tell([{ kind: "baseline", name: r.project, value: off ? null : r.id }]);
  const says = off ? "No baseline any more" : `Runs of ${r.project} are held against ${r.name || r.id}`;
  done.value = { says, back: () => undo(made.map((one) => one.id)) };
}

/** A difference and its interval. It is coloured only if the interval excludes 0.
 * @param {{delta: DeltaShape | undefined, far: number}} props */
export function Delta({ delta, far }) {
  if (!delta || delta.difference === null)
    return html`
      <span class="ink3">–</span>
    `;
  const [at, low, high] = [delta.difference, delta.low, delta.high].map(Number);
  const known = delta.low !== null;
  const look = known && Number(low) > 0 ? "rose" : known && Number(high) < 0 ? "fell" : "";
  const x = (/** @type {any} */ v) => Math.max(2, Math.min(62, 32 + (28 * Number(v)) / (far || 1)));
  const span = html`
    <line class="span" x1=${x(low)} x2=${x(high)} y1="7" y2="7" />
  `;
  return html`
    <span class=${`delta n ${look}`} title=${words(delta)}>
      ${signed(Number(at), true)}${delta.at === null ? "" : ` at ${count(delta.at)}`}
      <svg class="forest" viewBox="0 0 64 14" aria-hidden="true">
        <line class="zero" x1="32" x2="32" y1="0" y2="14" />
        ${known ? span : null}
        <circle cx=${x(at)} cy="7" r="2.5" />
      </svg>
    </span>
  `;
}

/** @param {DeltaShape} d */
function words(d) {
  const where = d.at === null ? "" : `, both at step ${count(d.at)}`;
  if (d.low === null) return `${signed(Number(d.difference), true)} points${where}; no repeats say how sure that is`;
  const span = `${signed(Number(d.low), true)} to ${signed(Number(d.high), true)}`;
  return `${signed(Number(d.difference), true)} points, 95 % ${span}${where}`;
}

/** The largest difference of a list, for the scale of its intervals.
 * @param {Record<string, DeltaShape>} deltas */
export const farthest = (deltas) =>
  Math.max(0, ...Object.values(deltas).map((d) => Math.abs(Number(d.difference ?? 0))));
