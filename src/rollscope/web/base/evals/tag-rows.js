/** Tasks of an evaluation set by tag: a row for each tag with the means of its tasks, then they. */

import { meanOf } from "./task-rows.js";

/** @typedef {import("./task-rows.js").Matrix} Matrix */

const UNTAGGED = "no tag";

/** The matrix with a row more for each tag, and rows in the order of tags. A task with several tags
 * stands under each of them. Rows from `real` on are tags.
 * @param {Matrix} m @param {number[]} rows @returns {{m: Matrix, rows: number[]}} */
export function byTag(m, rows) {
  const groups = grouped(m, rows);
  const names = [...groups.keys()].sort((a, b) => Number(a === "") - Number(b === "") || (a < b ? -1 : 1));
  const [real, steps] = [m.tasks.length, m.steps.length];
  const mean = new Float32Array((real + names.length) * steps);
  mean.set(m.mean);
  names.forEach((name, i) => mean.set(means(m, groups.get(name) ?? []), (real + i) * steps));
  const failed = new Uint8Array(mean.length);
  failed.set(m.failed);
  return {
    m: {
      ...m,
      mean,
      failed,
      real,
      tasks: [...m.tasks, ...names.map((name) => name || UNTAGGED)],
      labels: [...m.labels, ...names.map((name) => sized(groups.get(name)?.length ?? 0))],
    },
    rows: names.flatMap((name, i) => [real + i, ...(groups.get(name) ?? [])]),
  };
}

/** @param {number} n */
const sized = (n) => (n === 1 ? "1 task" : `${n} tasks`);

/** Tag -> its tasks in the order of rows; "" has those without a tag.
 * @param {Matrix} m @param {number[]} rows */
function grouped(m, rows) {
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  for (const t of rows)
    for (const tag of m.tags[t]?.length ? new Set(m.tags[t]) : [""]) {
      const list = groups.get(tag);
      if (list) list.push(t);
      else groups.set(tag, [t]);
    }
  return groups;
}

/** The mean over tasks at each step; NaN where none has a score.
 * @param {Matrix} m @param {number[]} tasks */
function means(m, tasks) {
  return m.steps.map((_, at) => {
    const known = tasks.map((t) => meanOf(m, t, at)).filter((v) => !Number.isNaN(v));
    return known.length ? known.reduce((sum, v) => sum + v, 0) / known.length : NaN;
  });
}
