/** The sheet of all keys that work on this page. */

import { bound } from "../../keys.js";
import { html } from "../html.js";
import { closeBeside } from "./overlay.js";

/** @typedef {import("../../keys.js").Key} Key */

const WORDS = /** @type {Record<string, string>} */ ({
  "ctrl+k": "Ctrl K",
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  "shift+ArrowLeft": "Shift ←",
  "shift+ArrowRight": "Shift →",
  Escape: "Esc",
  " ": "Space",
});

export function KeySheet() {
  const keys = bound().filter((k) => !/^[2-9]$/.test(k.keys[0] ?? ""));
  // The keys of the page come before those that work everywhere.
  const everywhere = keys.findIndex((k) => k.keys[0] === "ctrl+k");
  const goes = (/** @type {Key} */ k) => (k.keys[0] ?? "").startsWith("g ");
  const rest = keys.slice(everywhere).filter((k) => !goes(k));
  return html`
    <div class="veil" onPointerDown=${closeBeside}>
      <div class="sheet" role="dialog" aria-label="Keys">
        <h2>Keys</h2>
        <div class="keys">
          <div>${list("On this page", keys.slice(0, everywhere))}${list("Go to", keys.filter(goes))}</div>
          <div>${list("Everywhere", rest)}</div>
        </div>
      </div>
    </div>
  `;
}

/** @param {string} title @param {Key[]} keys */
const list = (title, keys) =>
  keys.length
    ? html`
        <h3>${title}</h3>
        ${keys.map(
          (k) => html`
            <div class="key">
              <kbd>${k.keys.map((s) => WORDS[s] ?? s).join(", ")}${k.keys[0] === "1" ? " to 9" : ""}</kbd>
              <span>${k.keys[0] === "1" ? "show or hide a run" : k.says}</span>
            </div>
          `,
        )}
      `
    : null;
