/** The trail of the drawer: what is open, and what it was opened from. */

import { go, view } from "../../state.js";

/** Open something from inside the drawer, and keep the way back. @param {string} what */
export const openDeeper = (what) =>
  go({ open: view.value.open ? [what, ...view.value.open.split(" < ")].slice(0, 6).join(" < ") : what });
