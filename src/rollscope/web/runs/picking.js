/** Which runs are selected: one by one, a stretch with shift, or all that match. */

import { picked } from "../state.js";

let anchor = "";

/** Select or deselect a run; with `stretch`, all rows between it and the last one.
 * @param {string} id @param {{id: string}[]} list @param {boolean} stretch */
export function pick(id, list, stretch) {
  const chosen = new Set(picked.value);
  const [from, to] = [list.findIndex((r) => r.id === anchor), list.findIndex((r) => r.id === id)];
  if (stretch && from >= 0 && to >= 0)
    for (const r of list.slice(Math.min(from, to), Math.max(from, to) + 1)) chosen.add(r.id);
  else if (chosen.has(id)) chosen.delete(id);
  else chosen.add(id);
  anchor = id;
  picked.value = [...chosen];
}

/** @param {string[]} ids */
export const pickAll = (ids) => {
  picked.value = ids;
};
