/** What can lie over the page: the palette and the sheet of keys. Their code is loaded when first opened. */

import { signal } from "@preact/signals";

/** @type {import("@preact/signals").Signal<"" | "palette" | "keys">} */
export const overlay = signal("");
/** What the palette starts with. */
export const seed = signal("");

/** @param {string} [text] */
export function openPalette(text = "") {
  seed.value = text;
  overlay.value = "palette";
}

export const closeOverlay = () => {
  overlay.value = "";
};
/** A press beside what lies over the page puts it away. @param {Event} e */
export const leave = (e) => {
  if (e.target === e.currentTarget) closeOverlay();
};
/** Words said to a screen reader, and shown for a moment. */
export const said = signal("");
/** The address is the view: copy it. */
export const copyLink = () => {
  navigator.clipboard?.writeText(location.href).then(
    () => say("Link copied"),
    () => say("The browser did not allow copying"),
  );
};
/** @param {string} text */
export function say(text) {
  said.value = text;
  setTimeout(() => {
    if (said.value === text) said.value = "";
  }, 2500);
}
