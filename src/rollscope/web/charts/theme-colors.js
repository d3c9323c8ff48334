/** The colour tokens as a canvas needs them: resolved for the theme, read once per theme. */

import { theme } from "../prefs.js";

const NAMES = [
  "bg",
  "s1",
  "s2",
  "line",
  "edge",
  "grid",
  "ink",
  "ink2",
  "ink3",
  "accent",
  "accent-soft",
  "good",
  "good-soft",
  "watch",
  "watch-soft",
  "bad",
  "bad-soft",
  "info",
  "info-soft",
];
/** @type {Map<string, Record<string, string>>} */
const known = new Map();

/** Token -> colour, for the theme now shown. @returns {Record<string, string>} */
export function ink() {
  const key = theme.value;
  const found = known.get(key);
  if (found) return found;
  const probe = document.createElement("i");
  probe.style.display = "none";
  document.documentElement.append(probe);
  /** @type {Record<string, string>} */
  const out = {};
  for (const name of NAMES) {
    probe.style.color = `var(--${name})`;
    out[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  known.set(key, out);
  return out;
}

/** A colour at part strength. @param {string} color @param {number} share */
export const faint = (color, share) => `color-mix(in srgb, ${color} ${share * 100}%, transparent)`;

export const SANS = '"Plex Sans", system-ui, sans-serif';
