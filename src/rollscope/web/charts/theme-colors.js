/** Colours of a canvas: the tokens of tokens.css, read once per theme, and the colour of each run.
 * The first twelve runs that are shown together differ, and a run keeps its colour while shown. */

import { computed } from "@preact/signals";
import { slots } from "../base/chart/color.js";
import { theme } from "../prefs.js";
import { runs } from "../state.js";
import { shown } from "../wire/series.js";

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

/** @type {Map<string, number>} */
let before = new Map();

/** @param {string} id */
const rowOf = (id) => runs.value?.find((r) => r.id === id);

/** Run -> slot, for the runs that are shown. */
export const shownSlots = computed(() => {
  before = slots(before, shown.value, (id) => rowOf(id)?.slot ?? shown.value.indexOf(id));
  return before;
});

/** The slot of a run, shown or not. @param {string} id */
export const slotOf = (id) => shownSlots.value.get(id) ?? rowOf(id)?.slot ?? 0;
