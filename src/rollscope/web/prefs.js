/** A person's preferences, stored in this browser only: theme, density, pinned metrics. */

import { effect, signal } from "@preact/signals";

/** @param {string} key @param {string} otherwise */
function recall(key, otherwise) {
  try {
    return localStorage.getItem(`rollscope.${key}`) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** @param {string} key @param {string} value */
function store(key, value) {
  try {
    localStorage.setItem(`rollscope.${key}`, value);
  } catch {
    // A private window may not store anything.
  }
}

const dark = matchMedia("(prefers-color-scheme: dark)");
/** The stored choice: "auto", "light" or "dark". */
const themeChoice = signal(recall("theme", "auto"));
/** @type {import("@preact/signals").Signal<"light" | "dark">} */
export const theme = signal("light");
export const density = signal(recall("density", "regular"));
/** True while the page is made for paper: all of it, in light colours. */
export const printing = signal(false);
export const pins = signal(/** @type {string[]} */ (JSON.parse(recall("pins", "[]"))));

/** @returns {"light" | "dark"} */
const decided = () =>
  themeChoice.value === "dark" || (themeChoice.value === "auto" && dark.matches) ? "dark" : "light";
const decide = () => {
  theme.value = printing.value ? "light" : decided();
};
dark.addEventListener("change", decide);

effect(() => {
  const root = document.documentElement;
  const choice = printing.value ? "light" : themeChoice.value;
  if (choice === "auto") delete root.dataset.theme;
  else root.dataset.theme = choice;
  root.toggleAttribute("data-printing", printing.value);
  decide();
  store("theme", themeChoice.value);
});
effect(() => {
  document.documentElement.dataset.density = density.value;
  store("density", density.value);
});
effect(() => store("pins", JSON.stringify(pins.value)));

export const switchTheme = () => {
  themeChoice.value = theme.value === "light" ? "dark" : "light";
};

const DENSITIES = ["compact", "regular", "large"];
/** Make everything larger (1) or denser (-1). @param {number} by */
export function changeDensity(by) {
  density.value = /** @type {string} */ (DENSITIES[Math.max(0, Math.min(2, DENSITIES.indexOf(density.value) + by))]);
}
