/** What one does with runs: tag, rename, note, archive, delete. Each can be undone. */

import { signal } from "@preact/signals";
import { plural } from "../base/text/format.js";
import { loadRuns, picked, runs } from "../state.js";
import { post } from "../wire/api.js";
import { tell, undo } from "../wire/project.js";

/** The last thing that was done, with the way back; null if there is none. */
export const done = signal(/** @type {{says: string, back: (() => Promise<void>) | null} | null} */ (null));

/** Run an action. A failure is its sentence. What was done before cannot be undone meanwhile.
 * @param {() => Promise<void>} work */
async function act(work) {
  done.value = null;
  try {
    await work();
    await loadRuns();
  } catch (error) {
    done.value = { says: /** @type {Error} */ (error).message, back: null };
  }
}

/** Keep changes, and offer to undo them.
 * @param {string} says @param {{kind: string, name: string, value: any}[]} changes */
const keep = (says, changes) =>
  act(async () => {
    const entries = await tell(changes);
    const back = async () => act(() => undo(entries.map((entry) => entry.id)));
    done.value = { says, back };
  });

/** @param {string[]} ids */
const those = (ids) => (ids.length === 1 ? nameOf(ids[0] ?? "") : plural(ids.length, "run"));
/** @param {string} id */
const nameOf = (id) => runs.value?.find((r) => r.id === id)?.name || id;

/** @param {string[]} ids @param {string} tag @param {boolean} on */
export const setTag = (ids, tag, on) =>
  keep(
    on ? `Tagged ${those(ids)} ${tag}` : `Took ${tag} from ${those(ids)}`,
    ids.map((id) => ({ kind: "tag", name: `${id}/${tag}`, value: on })),
  );

/** @param {string} id @param {string} name "" for the recorded one */
export const rename = (id, name) =>
  keep(name ? `Renamed to ${name}` : "It has its first name again", [
    { kind: "rename", name: id, value: name || null },
  ]);

/** @param {string} id @param {string} text */
export const setNote = (id, text) =>
  keep(text ? "The note is kept" : "The note is gone", [{ kind: "note", name: id, value: text || null }]);

/** @param {string[]} ids @param {boolean} on */
export function archive(ids, on) {
  picked.value = [];
  return keep(
    on ? `Archived ${those(ids)}` : `${those(ids)} back from the archive`,
    ids.map((id) => ({ kind: "archive", name: id, value: on || null })),
  );
}

/** Move runs to the bin. @param {string[]} ids */
export const remove = (ids) =>
  act(async () => {
    const says = `Deleted ${those(ids)}`;
    await post("bin", { ids });
    picked.value = [];
    done.value = { says, back: () => restore(ids) };
  });

/** @param {string[]} ids */
export const restore = (ids) =>
  act(async () => {
    await post("bin/restore", { ids });
    done.value = { says: `Restored ${plural(ids.length, "run")}`, back: null };
  });

/** Remove runs in the bin from the disk. @param {string[]} ids */
export const removeForGood = (ids) =>
  act(async () => {
    await post("bin/remove", { ids });
    done.value = { says: `Removed ${plural(ids.length, "run")} for good`, back: null };
  });
