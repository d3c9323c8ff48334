/** The colour tokens of tokens.css as a canvas needs them, read once per theme. */

import { theme } from "../prefs.js";

const NAMES =
  "bg s1 s2 line edge grid ink ink2 ink3 accent accent-soft " +
  "good good-soft watch watch-soft bad bad-soft info info-soft";
/** @type {Map<string, Record<string, string>>} */
const byTheme = new Map();

/** Colours of the current theme by token name. @returns {Record<string, string>} */
export function colors() {
  const key = theme.value;
  const known = byTheme.get(key);
  if (known) return known;
  const probe = document.createElement("i");
  probe.style.display = "none";
  document.documentElement.append(probe);
  /** @type {Record<string, string>} */
  const out = {};
  for (const name of NAMES.split(" ")) {
    probe.style.color = `var(--${name})`;
    out[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  byTheme.set(key, out);
  return out;
}

export const SANS = '"Plex Sans", system-ui, sans-serif';
