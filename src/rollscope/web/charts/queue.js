/** Drawing in turn: at most 6 ms in a frame, nearest to the middle of the view first, one chart per task
 *  (a chart draws after its constructor returns, so a loop around constructors would not bound a frame). */

const BUDGET = 6;
/** @type {Map<object, {draw: () => void, element: Element}>} */
const waiting = new Map();
let running = false;

/** Draw soon; asking twice before the turn comes draws once. @param {object} owner @param {Element} element @param {() => void} draw */
export function soon(owner, element, draw) {
  waiting.set(owner, { draw, element });
  if (!running) {
    running = true;
    requestAnimationFrame(frame);
  }
}

/** @param {object} owner */
export const never = (owner) => { waiting.delete(owner); };

function frame() {
  const middle = innerHeight / 2;
  const order = [...waiting].map(([owner, job]) => ({ owner, job, far: distance(job.element, middle) })).sort((a, b) => a.far - b.far);
  const channel = new MessageChannel();
  const start = performance.now();
  let at = 0;
  channel.port1.onmessage = () => {
    const next = order[at++];
    if (next && waiting.has(next.owner)) { waiting.delete(next.owner); next.job.draw(); }
    if (at < order.length && performance.now() - start < BUDGET) channel.port2.postMessage(0);
    else {
      channel.port1.close();
      if (waiting.size) requestAnimationFrame(frame); else running = false;
    }
  };
  channel.port2.postMessage(0);
}

/** @param {Element} element @param {number} middle */
function distance(element, middle) {
  const box = element.getBoundingClientRect();
  return box.bottom < 0 || box.top > innerHeight ? 1e6 + Math.abs(box.top - middle) : Math.abs((box.top + box.bottom) / 2 - middle);
}
