/** Print the whole page: every card is drawn for light paper first, also those far below. */

import { printing } from "../../prefs.js";
import { say } from "./overlay.js";

const PATIENCE = 30_000; // ms without another drawing: then the page is printed as it is
const LOOK = 50; // ms between two looks

/** Draw everything, print, and give the canvases back. */
export async function printPage() {
  if (printing.value) return;
  say("Drawing the whole page");
  printing.value = true;
  await drawn();
  print(); // returns when the dialog is closed
  printing.value = false;
}

/** Wait until every chart has ink or words. A page of a thousand takes long, and goes on. */
async function drawn() {
  let [left, since] = [Infinity, performance.now()];
  while (left && performance.now() - since < PATIENCE) {
    await new Promise((done) => setTimeout(done, LOOK));
    const now = coming();
    if (now !== left) [left, since] = [now, performance.now()];
  }
}

/** How many charts, and lists of them, are still to come. */
function coming() {
  const blank = (/** @type {Element} */ plot) =>
    !plot.hasAttribute("data-ink") && !plot.closest(".card")?.querySelector(".note")?.textContent;
  const lists = document.querySelectorAll(".cards.coming").length;
  return lists + [...document.querySelectorAll(".plot")].filter(blank).length;
}
