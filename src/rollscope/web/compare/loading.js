/** What the Compare page asks the server for. */

import { useEffect, useState } from "preact/hooks";
import { unpack } from "../base/chart/points.js";
import { returned } from "../state.js";
import { packed, part } from "../wire/api.js";

/** @typedef {import("../wire/types.gen").ComparisonShape} ComparisonShape */
/** @typedef {{head: any, columns: Record<string, any>}} Answer */

/** The runs of a question, for its address. @param {string[]} ids @param {string} by */
export const query = (ids, by) => `${ids.map((id) => `run=${part(id)}`).join("&")}${by ? `&by=${part(by)}` : ""}`;

/** Curves of some metrics. @param {ComparisonShape | null} found @param {string[]} names
 * @param {string} x @param {string} centre @returns {[Answer | null, string]} */
export function useCurves(found, names, x, centre) {
  const [answer, setAnswer] = useState(/** @type {Answer | null} */ (null));
  const [error, setError] = useState("");
  const groups = found?.groups.map((g) => g.runs) ?? [];
  const key = JSON.stringify([groups, names, x, centre]);
  useEffect(() => {
    if (!groups.length || !names.length) return;
    const abort = new AbortController();
    packed("compare/charts", { groups, names, x, centre, points: 200 }, abort.signal).then(
      (buffer) => {
        setAnswer(/** @type {any} */ (unpack(buffer)));
        setError("");
      },
      (e) => {
        if (e.name !== "AbortError") setError(e.message);
      },
    );
    return () => abort.abort();
  }, [key, returned.value]);
  return [answer, error];
}

/** The drawing of one metric of an answer. @param {Answer} answer @param {number} i
 * @param {string[][]} groups @param {string[]} colors @param {number | null} parts
 * @returns {import("./draw.js").Drawing} */
export function drawingOf({ head, columns: c }, i, groups, colors, parts) {
  const n = head.n;
  const row = (/** @type {string} */ name, /** @type {number} */ at) => c[name].subarray(at * n, (at + 1) * n);
  const sides = groups.map((_, g) => i * head.groups + g);
  const owner = groups.flatMap((ids, g) => ids.map(() => g));
  const several = groups.some((ids) => ids.length > 1);
  const single = (/** @type {number} */ group, /** @type {number} */ r) => ({
    group,
    values: row("runs", i * head.runs.length + r),
  });
  return {
    x: c.x,
    lo: head.lo,
    hi: head.hi,
    centre: sides.map((s) => row("centre", s)),
    low: sides.map((s) => row("low", s)),
    high: sides.map((s) => row("high", s)),
    runs: several ? owner.map(single) : [],
    colors,
    gap: groups.length > 1 ? { centre: row("gap_centre", i), low: row("gap_low", i), high: row("gap_high", i) } : null,
    noise: head.metrics[i].noise,
    parts,
    at: null,
  };
}
