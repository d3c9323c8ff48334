/** The zoom, the selection and the colours of the timeline in the address, so that a link shows the
 * same. */

import { effect } from "@preact/signals";
import { range } from "../base/text/url.js";
import { go, view as address } from "../state.js";
import { byVersion, selected, view } from "./loading.js";

const WAIT_MS = 250; // a browser takes only some changes of the address per second

/** A stretch of seconds as words: "12.5-30". @param {[number, number] | null} stretch */
const words = (stretch) => (stretch ? stretch.map((t) => String(Number(t.toFixed(6)))).join("-") : "");

/** The stretch that the address asks for. */
export const zoom = () => range(address.peek().view);

/** Take what the address says; true if it says which stretch to show. */
export function restore() {
  const stretch = zoom();
  if (stretch) view.value = stretch;
  selected.value = range(address.peek().show);
  byVersion.value = address.peek().by === "version";
  return stretch !== null;
}

/** Keep the address at what is shown. `home` is the stretch that needs no words. Returns how to
 * stop. @param {() => [number, number]} home */
export function keep(home) {
  let timer = 0;
  const stop = effect(() => {
    const away = words(view.value) === words(home()) ? "" : words(view.value);
    const patch = { view: away, show: words(selected.value), by: byVersion.value ? "version" : "" };
    clearTimeout(timer);
    timer = setTimeout(() => {
      const now = address.peek();
      const same = now.view === patch.view && now.show === patch.show && now.by === patch.by;
      if (!same && now.page === "timeline") go(patch, "replace");
    }, WAIT_MS);
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}
