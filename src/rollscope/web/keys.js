/** The keyboard. Keys and their words are one table, which the `?` sheet and the palette show too.
 */

/** @typedef {{keys: string[], says: string, run: (event: KeyboardEvent) => void,
 *   group?: string}} Key */

/** @type {Key[][]} */
const layers = [];

/** Add keys, which win over older ones; returns the function that removes them. A component adds
 * them in `useLayoutEffect`: what a person sees hears their keys from its first moment.
 * @param {Key[]} keys */
export function bind(keys) {
  layers.unshift(keys);
  return () => {
    layers.splice(layers.indexOf(keys), 1);
  };
}

/** The keys that work now. @returns {Key[]} */
export const bound = () => {
  const seen = new Set();
  return layers.flat().filter((k) => !seen.has(k.keys[0]) && seen.add(k.keys[0]));
};

/** Most milliseconds between the two keys of "g o", by the time they were pressed: a busy page
 * hears of keys late. */
const CHAIN = 1500;
let prefix = "";
let prefixAt = 0;

/** The name of a key press: "ctrl+k", "shift+ArrowLeft", "?". @param {KeyboardEvent} event */
function nameOf(event) {
  const chord = event.ctrlKey || event.metaKey ? "ctrl+" : "";
  const shift = event.shiftKey && event.key.length > 1 ? "shift+" : "";
  const key = event.key.length === 1 && chord ? event.key.toLowerCase() : event.key;
  return chord + shift + key;
}

/** True if a person types into the target. @param {EventTarget | null} target */
const typing = (target) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
  /** @type {HTMLInputElement} */ (target).type !== "range";

/** True for Enter and space on a control, which belong to the control.
 * @param {KeyboardEvent} event */
const pressing = (event) =>
  (event.key === "Enter" || event.key === " ") &&
  event.target instanceof Element &&
  event.target.closest("button, a, summary, [role=option][tabindex]") !== null;

/** Keys that also work while a person types. */
const EVERYWHERE = ["Escape", "ctrl+k", "ctrl+p"];

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey || pressing(event)) return;
  const key = nameOf(event);
  if (typing(event.target) && !EVERYWHERE.includes(key)) return;
  const chain = prefix && event.timeStamp - prefixAt < CHAIN ? `${prefix} ${key}` : "";
  prefix = "";
  const bound = (chain && lookup(chain)) || lookup(key);
  if (bound) {
    event.preventDefault();
    bound.run(event);
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
