/** The lanes: one canvas, drawn from the tile in each frame that moved. A drag pans, with shift it
 * selects; ctrl and the wheel zoom at the pointer; a click opens a span. */

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { effect } from "@preact/signals";
import { layout, rowAt, spanAt, zoomed, kept } from "../base/timeline/lanes.js";
import { html } from "../parts/html.js";
import { openDeeper } from "../parts/details/trail.js";
import { theme } from "../prefs.js";
import { draw, gutter } from "./draw.js";
import { at, byVersion, follow, hovered, keyOf, machines, selected, tile, view } from "./loading.js";

/** @typedef {import("./loading.js").Index} Index */
/** @typedef {{x: number, view: [number, number], from: number, moved: boolean,
 *   selects: boolean}} Drag */

/** @param {{run: string, index: Index, path: any[], step: number}} props */
export function Lanes({ run, index, path, step }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const drag = useRef(/** @type {Drag | null} */ (null)); // goes on when more of the lanes is known
  const strips = machines.value.strips;
  const which = strips.map((s) => `${s.unit} ${s.host} ${s.device}`).join(",");
  const placed = useMemo(() => layout(index.tracks, strips), [index.tracks, which]);
  useLayoutEffect(() => {
    const host = /** @type {HTMLDivElement} */ (box.current);
    const surface = /** @type {HTMLCanvasElement} */ (canvas.current);
    let frame = 0;
    const paint = () => {
      frame = 0;
      draw(surface, host, placed, index, path, step);
    };
    const soon = () => {
      frame ||= requestAnimationFrame(paint);
    };
    const stop = effect(() => {
      [view.value, tile.value, machines.value, at.value, hovered.value, selected.value, byVersion.value, theme.value];
      follow(run, Math.max(200, host.clientWidth - gutter(host.clientWidth)));
      soon();
    });
    const sized = new ResizeObserver(soon);
    sized.observe(host);
    host.addEventListener("scroll", soon);
    const unhook = hook(host, placed, index, run, drag);
    return () => {
      stop();
      sized.disconnect();
      unhook();
      cancelAnimationFrame(frame);
    };
  }, [run, index, path, step, placed]);
  return html`
    <div class="lanes" ref=${box} tabindex="0" role="img" aria-label=${`Timeline of ${index.tracks.length} lanes`}>
      <canvas ref=${canvas}></canvas>
      <div style=${{ height: `${placed.height + 24}px` }}></div>
    </div>
  `;
}

/** Listen to pointer and wheel; returns the function that stops. @param {HTMLDivElement} host
 * @param {import("../base/timeline/lanes.js").Layout} placed @param {Index} index
 * @param {string} run @param {{current: Drag | null}} drag */
function hook(host, placed, index, run, drag) {
  const time = (/** @type {MouseEvent} */ event) => {
    const [lo, hi] = view.peek();
    const x = event.clientX - host.getBoundingClientRect().left - gutter(host.clientWidth);
    return lo + (x / Math.max(1, host.clientWidth - gutter(host.clientWidth))) * (hi - lo);
  };
  const under = (/** @type {MouseEvent} */ event) => {
    const t = tile.peek();
    const row = rowAt(placed, event.clientY - host.getBoundingClientRect().top + host.scrollTop - 20);
    const [lo, hi] = view.peek();
    return t && row ? spanAt(t, row.track, time(event), (1.5 * (hi - lo)) / host.clientWidth) : -1;
  };
  const down = (/** @type {PointerEvent} */ event) => {
    if (event.button) return;
    host.setPointerCapture(event.pointerId);
    drag.current = { x: event.clientX, view: view.peek(), from: time(event), moved: false, selects: event.shiftKey };
  };
  const move = (/** @type {PointerEvent} */ event) => {
    const d = drag.current;
    if (!d) {
      hovered.value = under(event);
      return;
    }
    d.moved ||= Math.abs(event.clientX - d.x) > 3;
    if (!d.moved) return;
    const [lo, hi] = d.view;
    const by = ((event.clientX - d.x) / Math.max(1, host.clientWidth - gutter(host.clientWidth))) * (hi - lo);
    if (d.selects) selected.value = [Math.min(d.from, time(event)), Math.max(d.from, time(event))];
    else view.value = kept([lo - by, hi - by], index.seconds);
  };
  const up = async (/** @type {PointerEvent} */ event) => {
    const still = drag.current && !drag.current.moved;
    drag.current = null;
    if (!still) return;
    const i = under(event);
    selected.value = null;
    at.value = i;
    if (i >= 0) openDeeper(`span:${await keyOf(run, i)}`);
  };
  const wheel = (/** @type {WheelEvent} */ event) => {
    if (!event.ctrlKey && !event.metaKey) {
      if (!event.shiftKey && !event.deltaX) return; // a plain wheel scrolls the lanes
      const [lo, hi] = view.peek();
      const by = ((event.deltaX || event.deltaY) / host.clientWidth) * (hi - lo);
      view.value = kept([lo + by, hi + by], index.seconds);
      return;
    }
    event.preventDefault();
    view.value = zoomed(view.peek(), time(event), Math.exp(event.deltaY / 300), index.seconds);
  };
  const leave = () => {
    hovered.value = -1;
  };
  const cancel = () => {
    drag.current = null;
  };
  host.addEventListener("pointerdown", down);
  host.addEventListener("pointermove", move);
  host.addEventListener("pointerup", up);
  host.addEventListener("pointercancel", cancel);
  host.addEventListener("pointerleave", leave);
  host.addEventListener("wheel", wheel, { passive: false });
  return () => {
    host.removeEventListener("pointerdown", down);
    host.removeEventListener("pointermove", move);
    host.removeEventListener("pointerup", up);
    host.removeEventListener("pointercancel", cancel);
    host.removeEventListener("pointerleave", leave);
    host.removeEventListener("wheel", wheel);
  };
}
