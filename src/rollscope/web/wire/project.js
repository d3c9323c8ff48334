/** The project log: what people say about runs, as the server keeps it, with undo. */

import { signal } from "@preact/signals";
import { get, inOrder, post } from "./api.js";
import { listen } from "./live.js";

/** @typedef {import("./types.gen").SaidShape} Entry */
/** @typedef {{kind: string, name: string, value: any}} Change */

/** Kind -> name -> the entry that holds; null before the first answer. */
export const held = signal(/** @type {Record<string, Record<string, Entry>> | null} */ (null));
/** A sentence for each line of the log that cannot be read. */
export const problems = signal(/** @type {string[]} */ ([]));

const take = inOrder((answer) => {
  held.value = answer.held;
  problems.value = answer.problems;
});

export const loadProject = () => take(get("project"));

/** @type {Promise<any> | null} */
let coming = null;

/** Load the log, unless it is here or on its way. Events keep it up to date. */
export function needProject() {
  if (held.peek()) return Promise.resolve();
  coming ??= loadProject().finally(() => {
    coming = null;
  });
  return coming;
}

/** The entries of a kind by name. @param {string} kind @returns {Record<string, Entry>} */
export const entries = (kind) => held.value?.[kind] ?? {};

/** Say something; returns the entries, whose ids undo it.
 * @param {Change[]} changes @param {string} [after] id of the entry one has seen
 * @returns {Promise<Entry[]>} */
export async function tell(changes, after) {
  const answer = await post("project", after === undefined ? { changes } : { changes, after });
  await loadProject();
  return answer.entries;
}

/** Take entries back. @param {string[]} ids */
export async function undo(ids) {
  await post("project/undo", { ids });
  await loadProject();
}

listen((event) => {
  if (held.value && (event.kind === "project" || event.kind === "woke")) loadProject().catch(() => {});
});
