/** Drawing in turn: at most 6 ms in a frame, nearest to the middle of the view first, one chart per microtask
 *  (a new chart draws in one after its constructor returns, so a loop around constructors would not bound a frame). */

const BUDGET = 6;
/** @type {Map<object, {draw: () => void, element: Element}>} */
const waiting = new Map();
let running = false;
let begun = false;
/** The turns, as they were when the last one asked. @type {{owner: object, job: {draw: () => void, element: Element}, far: number}[] | null} */
let order = null;

/** Draw soon; asking twice before the turn comes draws once. @param {object} owner @param {Element} element @param {() => void} draw */
export function soon(owner, element, draw) {
  if (!waiting.has(owner)) order = null;
  waiting.set(owner, { draw, element });
  if (!running) {
    running = true;
    if (begun) requestAnimationFrame(frame);
    else queueMicrotask(frame); // the first ink of a page waits for no frame: the one that comes shows it
    begun = true;
  }
}

/** @param {object} owner */
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
      // after the chart has drawn
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
