/** When a plot asks for numbers and when it draws. Plots draw in turn, for at most 6 ms of a frame,
 * nearest to the middle of the view first. One chart draws per microtask: a new uPlot draws in a
 * microtask after its constructor returns, so a loop over constructors would not bound the frame.
 */

import { effect } from "@preact/signals";
import { printing } from "../prefs.js";

/** What a plot does as it comes nearer and leaves.
 * @typedef {{ask: () => void, leave: () => void, start: () => void, stop: () => void,
 *   see: (seen: boolean) => void}} Watched */

const ASK = "1400px"; // numbers are fetched this far ahead of the view
const KEEP = "400px"; // a plot farther away gives its canvas back

/** @type {Map<Element, Watched>} */
const plots = new Map();
/** @type {WeakMap<Element | Document, IntersectionObserver[]>} */
const observers = new WeakMap();

/** Watch a plot; returns the function that stops watching. All plots of a page share three
 * observers, so plots that come near in the same frame ask in the same request.
 * @param {Element} host @param {Watched} plot */
export function watch(host, plot) {
  const root = host.closest(".page");
  const three = observers.get(root ?? document) ?? observersOf(root);
  observers.set(root ?? document, three);
  plots.set(host, plot);
  for (const observer of three) observer.observe(host);
  if (printing.peek()) plot.start();
  return () => {
    for (const observer of three) observer.unobserve(host);
    plots.delete(host);
  };
}

/** @param {Element | null} root */
function observersOf(root) {
  const observer = (/** @type {string} */ rootMargin, /** @type {(p: Watched, inside: boolean) => void} */ tell) =>
    new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          const plot = plots.get(target);
          if (plot && (isIntersecting || !printing.peek())) tell(plot, isIntersecting);
        }
      },
      { root, rootMargin },
    );
  return [
    observer(ASK, (p, inside) => (inside ? p.ask() : p.leave())),
    observer(KEEP, (p, inside) => (inside ? p.start() : p.stop())),
    observer("0px", (p, inside) => p.see(inside)),
  ];
}

// On paper every plot is in view. Afterwards the observers tell again which of them are.
effect(() => {
  if (printing.value) for (const plot of plots.values()) plot.start();
  else for (const host of plots.keys()) lookAgain(host);
});

/** @param {Element} host */
function lookAgain(host) {
  for (const observer of observers.get(host.closest(".page") ?? document) ?? []) {
    observer.unobserve(host);
    observer.observe(host);
  }
}

const BUDGET = 6; // ms of a frame
/** @type {Map<object, {draw: () => void, element: Element}>} */
const waiting = new Map();
let running = false;
let begun = false;
/** The plots in drawing order, last first, until another plot asks.
 * @type {{owner: object, job: {draw: () => void, element: Element}, far: number}[] | null} */
let order = null;

/** Draw soon. Two requests before the turn comes draw once.
 * @param {object} owner @param {Element} element @param {() => void} draw */
export function soon(owner, element, draw) {
  if (!waiting.has(owner)) order = null;
  waiting.set(owner, { draw, element });
  if (!running) {
    running = true;
    if (begun) requestAnimationFrame(frame);
    else queueMicrotask(frame); // the first drawing of a page is in the frame that comes next
    begun = true;
  }
}

/** Take back a request. @param {object} owner */
export const never = (owner) => {
  waiting.delete(owner);
};

function frame() {
  const middle = innerHeight / 2;
  const turns = (order ??= [...waiting]
    .map(([owner, job]) => ({ owner, job, far: distance(job.element, middle) }))
    .sort((a, b) => b.far - a.far));
  const start = performance.now();
  const turn = () => {
    const next = turns.pop();
    const job = next && waiting.get(next.owner);
    if (next && job) {
      waiting.delete(next.owner);
      job.draw();
    }
    queueMicrotask(() => {
      // The chart has drawn by now.
      if (turns.length && performance.now() - start < BUDGET) turn();
      else if (waiting.size) requestAnimationFrame(frame);
      else running = false;
    });
  };
  turn();
}

/** @param {Element} element @param {number} middle */
function distance(element, middle) {
  const box = element.getBoundingClientRect();
  return box.bottom < 0 || box.top > innerHeight
    ? 1e6 + Math.abs(box.top - middle)
    : Math.abs((box.top + box.bottom) / 2 - middle);
}
