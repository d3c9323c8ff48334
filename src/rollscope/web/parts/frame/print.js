/** Print the whole page: every card is drawn for light paper first, also those far below. */

import { printing } from "../../prefs.js";
import { say } from "./overlay.js";

const PATIENCE = 30_000; // ms: then the page is printed as it is
const LOOK = 50; // ms between two looks

/** Draw everything, print, and give the canvases back. */
export async function printPage() {
  if (printing.value) return;
  say("Drawing the whole page");
  printing.value = true;
  await drawn(performance.now() + PATIENCE);
  print(); // returns when the dialog is closed
  printing.value = false;
}

/** Wait until every chart has ink or words. @param {number} deadline
 * @returns {Promise<void>} */
async function drawn(deadline) {
  do await new Promise((done) => setTimeout(done, LOOK));
  while (performance.now() < deadline && isComing());
}

function isComing() {
  const blank = (/** @type {Element} */ plot) =>
    !plot.hasAttribute("data-ink") && !plot.closest(".card")?.querySelector(".note")?.textContent;
  return document.querySelector(".cards.coming") !== null || [...document.querySelectorAll(".plot")].some(blank);
}
