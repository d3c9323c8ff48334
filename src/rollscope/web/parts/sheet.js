/** Every key that works here, from the table the keys themselves are bound from. */

import { bound } from "../keys.js";
import { html } from "./html.js";
import { closeOverlay } from "./overlay.js";

const WORDS = /** @type {Record<string, string>} */ ({ "ctrl+k": "Ctrl K", ArrowLeft: "←", ArrowRight: "→", "shift+ArrowLeft": "Shift ←", "shift+ArrowRight": "Shift →", Escape: "Esc" });

export function Sheet() {
  const keys = bound().filter((k) => !/^[2-9]$/.test(k.keys[0] ?? ""));
  return html`<div class="veil" onPointerDown=${(/** @type {Event} */ e) => { if (e.target === e.currentTarget) closeOverlay(); }}><div class="sheet" role="dialog" aria-label="Keys"><h2>Keys</h2><div class="keys">${keys.map((k) => html`<div><kbd>${k.keys.map((s) => WORDS[s] ?? s).join(", ")}${k.keys[0] === "1" ? " to 9" : ""}</kbd><span>${k.keys[0] === "1" ? "show or hide a run" : k.says}</span></div>`)}</div></div></div>`;
}
