/** Overlays of the page: which one is open (palette, keys or pages), and short messages. */

import { signal } from "@preact/signals";

/** @type {import("@preact/signals").Signal<"" | "palette" | "keys" | "pages">} */
export const overlay = signal("");

export const openPalette = () => {
  overlay.value = "palette";
};

export const closeOverlay = () => {
  overlay.value = "";
};
/** Close the overlay on a press beside it. @param {Event} e */
export const closeBeside = (e) => {
  if (e.target === e.currentTarget) closeOverlay();
};
/** A message for screen readers and, for a moment, on the screen. */
export const message = signal("");
/** Copy the address, which holds the view. */
export const copyLink = () => {
  navigator.clipboard?.writeText(location.href).then(
    () => say("Link copied"),
    () => say("The browser did not allow copying"),
  );
};
/** Show a message for a moment. @param {string} text */
export function say(text) {
  message.value = text;
  setTimeout(() => {
    if (message.value === text) message.value = "";
  }, 2500);
}
