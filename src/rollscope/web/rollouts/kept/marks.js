/** Marks on samples of the run: what is said, and saying more, each with a way back. */

import { computed, signal } from "@preact/signals";
import { marksOf, setsOf } from "../../base/samples/marks.js";
import { plural } from "../../base/text/format.js";
import { entries, held, loadProject, tell, undo } from "../../wire/project.js";
import { view } from "../../state.js";

/** @typedef {import("../../base/samples/marks.js").Marks} Marks */
/** @typedef {import("../../wire/project.js").Change} Change */

const run = computed(() => view.value.run);
/** Sample id -> what people said about it, in the run on the page. */
export const marked = computed(() => (held.value ? marksOf(entries, run.value) : new Map()));
/** Name of a set -> how many samples it has. */
export const sets = computed(() => (held.value ? setsOf(entries("set")) : new Map()));
/** All labels that a sample of any run has, for suggestions. */
export const labels = computed(() =>
  held.value ? [...new Set(Object.keys(entries("label")).map((name) => name.split("/")[1] ?? ""))].sort() : [],
);
/** The last thing that was said about samples, with its way back. */
export const done = signal(/** @type {{says: string, back: (() => Promise<void>) | null} | null} */ (null));
/** The samples whose panel is open; empty if none is. */
export const marking = signal(/** @type {string[]} */ ([]));

/** Read the project log, once. */
export const readMarks = () => (held.peek() ? undefined : loadProject().catch(failed));

/** @param {unknown} error */
const failed = (error) => {
  done.value = { says: /** @type {Error} */ (error).message, back: null };
};

/** Keep changes, and offer to undo them. Returns whether they were kept.
 * @param {string} says @param {Change[]} changes */
async function keep(says, changes) {
  if (!changes.length) return true;
  try {
    const made = await tell(changes);
    const back = () => undo(made.map((entry) => entry.id)).then(() => void (done.value = null), failed);
    done.value = { says, back };
    return true;
  } catch (error) {
    failed(error);
    return false;
  }
}

/** @param {string[]} ids */
const those = (ids) => plural(ids.length, "sample");
/** Changes for the samples that a test leaves.
 * @param {string[]} ids @param {(marks: Marks | undefined) => boolean} wanted
 * @param {(id: string) => Change} change */
const changes = (ids, wanted, change) => ids.filter((id) => wanted(marked.peek().get(id))).map(change);

/** @param {string[]} ids @param {boolean} on */
export const setStar = (ids, on) =>
  keep(
    `${on ? "Starred" : "Took the star from"} ${those(ids)}`,
    changes(
      ids,
      (m) => Boolean(m?.star) !== on,
      (id) => ({ kind: "star", name: `${run.peek()}/${id}`, value: on || null }),
    ),
  );

/** @param {string[]} ids @param {string} label @param {boolean} on */
export const setLabel = (ids, label, on) =>
  keep(
    on ? `Labelled ${those(ids)} “${label}”` : `Took “${label}” from ${those(ids)}`,
    changes(
      ids,
      (m) => Boolean(m?.labels.includes(label)) !== on,
      (id) => ({ kind: "label", name: `${run.peek()}/${label}/${id}`, value: on || null }),
    ),
  );

/** @param {string[]} ids @param {string} set @param {boolean} on */
export const setMember = (ids, set, on) =>
  keep(
    on ? `Put ${those(ids)} into “${set}”` : `Took ${those(ids)} out of “${set}”`,
    changes(
      ids,
      (m) => Boolean(m?.sets.includes(set)) !== on,
      (id) => ({ kind: "set", name: `${set}/${run.peek()}/${id}`, value: on || null }),
    ),
  );

/** @param {string[]} ids @param {string} text */
export const addComment = (ids, text) =>
  keep(
    `Commented on ${those(ids)}`,
    ids.map((id) => ({ kind: "comment", name: `${run.peek()}/${fresh()}/${id}`, value: text })),
  );

/** @param {string} id of the sample @param {string} comment its id */
export const removeComment = (id, comment) =>
  keep("Removed the comment", [{ kind: "comment", name: `${run.peek()}/${comment}/${id}`, value: null }]);

/** An id that nobody has. */
const fresh = () => [...crypto.getRandomValues(new Uint8Array(6))].map((b) => b.toString(16).padStart(2, "0")).join("");
