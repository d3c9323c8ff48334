/** The keyboard: one table of keys with words, so that the `?` sheet, the palette and the keys themselves cannot differ. */

/** @typedef {{keys: string[], says: string, run: (event: KeyboardEvent) => void, group?: string}} Key */

/** @type {Key[][]} */
const layers = [];

/** Add keys, newest first; gives back the function that removes them. @param {Key[]} keys */
export function bind(keys) {
  layers.unshift(keys);
  return () => {
    layers.splice(layers.indexOf(keys), 1);
  };
}

/** What can be pressed now. @returns {Key[]} */
export const bound = () => {
  const seen = new Set();
  return layers.flat().filter((k) => !seen.has(k.keys[0]) && seen.add(k.keys[0]));
};

const CHAIN = 1500; // ms between the two keys of "g o", as they were pressed: a busy page may hear of them late
let prefix = "";
let prefixAt = 0;

/** "ctrl+k", "shift+ArrowLeft", "g o", "?". @param {KeyboardEvent} event */
function spelled(event) {
  const chord = event.ctrlKey || event.metaKey ? "ctrl+" : "";
  const shift = event.shiftKey && event.key.length > 1 ? "shift+" : "";
  const key = event.key.length === 1 && chord ? event.key.toLowerCase() : event.key;
  return chord + shift + key;
}

/** @param {EventTarget | null} target */
const typing = (target) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
  /** @type {HTMLInputElement} */ (target).type !== "range";

/** Enter and space on a control are that control's. @param {KeyboardEvent} event */
const pressing = (event) =>
  (event.key === "Enter" || event.key === " ") &&
  event.target instanceof Element &&
  event.target.closest("button, a, summary, [role=option][tabindex]") !== null;

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey || pressing(event)) return;
  const key = spelled(event);
  if (typing(event.target) && key !== "Escape" && key !== "ctrl+k") return;
  const chain = prefix && event.timeStamp - prefixAt < CHAIN ? `${prefix} ${key}` : "";
  prefix = "";
  const found = (chain && lookup(chain)) || lookup(key);
  if (found) {
    event.preventDefault();
    found.run(event);
  } else if (layers.flat().some((k) => k.keys.some((s) => s.startsWith(`${key} `)))) {
    [prefix, prefixAt] = [key, event.timeStamp];
    event.preventDefault();
  }
});

/** @param {string} key */
function lookup(key) {
  for (const layer of layers) for (const entry of layer) if (entry.keys.includes(key)) return entry;
  return null;
}
