/** Tasks of an evaluation set by steps: which rows a list shows, and in which order. */

/** @typedef {{tasks: string[], labels: string[], tags: string[][], steps: number[],
 *   graded: boolean, mean: Float32Array, failed: Uint8Array, real?: number}} Matrix */
// Rows from `real` on are tags.
/** @typedef {"changed" | "lost" | "learnt" | "never" | "failed"} Order */

/** The mean of a task at a step; NaN: no repeat has a score.
 * @param {Matrix} m @param {number} task @param {number} at */
export const meanOf = (m, task, at) => (at < 0 ? NaN : (m.mean[task * m.steps.length + at] ?? NaN));

/** How many repeats of a task failed at a step. @param {Matrix} m @param {number} task
 * @param {number} at */
export const failedOf = (m, task, at) => m.failed[task * m.steps.length + at] ?? 0;

/** After minus before; NaN if either has no score.
 * @param {Matrix} m @param {number} task @param {number} before @param {number} after */
export const changeOf = (m, task, before, after) => meanOf(m, task, after) - meanOf(m, task, before);

/** True if no step solved the task and one of them tried it.
 * @param {Matrix} m @param {number} task */
export function neverSolved(m, task) {
  let best = -Infinity;
  for (let at = 0; at < m.steps.length; at++) {
    const v = meanOf(m, task, at);
    if (v > best) best = v;
  }
  return best > -Infinity && best <= 0.5;
}

/** True if a repeat of the task failed at any step. @param {Matrix} m @param {number} task */
export function everFailed(m, task) {
  for (let at = 0; at < m.steps.length; at++) if (failedOf(m, task, at)) return true;
  return false;
}

/** How many tasks had no score at each step because they failed. @param {Matrix} m */
export function failedTasks(m) {
  const failed = new Array(m.steps.length).fill(0);
  for (let t = 0; t < m.tasks.length; t++)
    for (let at = 0; at < failed.length; at++) if (failedOf(m, t, at) && Number.isNaN(meanOf(m, t, at))) failed[at]++;
  return failed;
}

/** The lowest and the highest mean. @param {Matrix} m @returns {[number, number]} */
export function endsOf(m) {
  let [lo, hi] = [Infinity, -Infinity];
  for (const v of m.mean) {
    if (v < lo) lo = v;
    if (v > hi) hi = v;
  }
  return lo <= hi ? [lo, hi] : [0, 1];
}

/** Task numbers of a list, the largest change first.
 * @param {Matrix} m @param {Order} order @param {number} before @param {number} after
 * @param {Record<string, string[]>} kinds what happened to tasks between the two
 * @param {string} query words that the id, the prompt or a tag must have */
export function rowsOf(m, order, before, after, kinds, query) {
  const named = new Set(kinds[order] ?? []);
  const keep = {
    changed: () => true,
    lost: (/** @type {number} */ t) => named.has(m.tasks[t] ?? ""),
    learnt: (/** @type {number} */ t) => named.has(m.tasks[t] ?? ""),
    never: (/** @type {number} */ t) => neverSolved(m, t),
    failed: (/** @type {number} */ t) => everFailed(m, t),
  }[order];
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = m.tasks.map((_, t) => t).filter((t) => keep(t) && words.every((w) => textOf(m, t).includes(w)));
  const size = (/** @type {number} */ t) => Math.abs(changeOf(m, t, before, after)) || 0;
  return rows.sort((a, b) => size(b) - size(a) || a - b);
}

/** @param {Matrix} m @param {number} t */
const textOf = (m, t) => `${m.tasks[t]} ${m.labels[t]} ${(m.tags[t] ?? []).join(" ")}`.toLowerCase();

/** The two steps to compare: those of the brush if both were evaluated, else the newest two.
 * @param {number[]} steps @param {[number, number] | null} range @returns {[number, number]} */
export function pairOf(steps, range) {
  const [before, after] = [nearest(steps, range?.[0]), nearest(steps, range?.[1])];
  if (before !== null && after !== null && before !== after) return [before, after];
  return [steps.at(-2) ?? steps.at(-1) ?? 0, steps.at(-1) ?? 0];
}

/** The evaluated step nearest to a step. @param {number[]} steps @param {number | undefined} at
 * @returns {number | null} */
const nearest = (steps, at) =>
  at === undefined || !steps.length
    ? null
    : steps.reduce((best, step) => (Math.abs(step - at) < Math.abs(best - at) ? step : best));
