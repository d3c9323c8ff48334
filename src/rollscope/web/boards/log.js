/** Boards as the project log keeps them: changed so that two editors lose nothing, and removed. */

import { read, kept } from "../base/text/boards.js";
import { entries, loadProject, tell, undo } from "../wire/project.js";
import { done } from "../runs/actions.js";

/** @typedef {import("../base/text/boards.js").Board} Board */

const TRIES = 5;

/** Change a board and keep it. If someone else changed it meanwhile, the change is made again on
 * what they left.
 * @param {string} name @param {Board} builtIn what the board is if the log has none
 * @param {(board: Board) => Board} change */
export async function edit(name, builtIn, change) {
  for (let i = 0; ; i++) {
    const held = entries("board")[name];
    const next = change(held ? read(held.value).board : builtIn);
    const value = { panels: next.panels.map(kept) };
    try {
      return await tell([{ kind: "board", name, value }], held?.id ?? "");
    } catch (error) {
      const conflict = /** @type {any} */ (error).kind === "Conflict";
      if (!conflict || i >= TRIES) throw error;
      await loadProject();
    }
  }
}

/** Take a board away, with the way back. @param {string} name */
export async function remove(name) {
  const made = await tell([{ kind: "board", name, value: null }]);
  done.value = { says: `Removed the board ${name}`, back: () => undo(made.map((one) => one.id)) };
}
