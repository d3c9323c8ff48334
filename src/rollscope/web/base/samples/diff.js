/** Differences between two texts, word by word. Beyond `LIMIT` edits the whole middle counts as
 * different, so that the time is bounded. */

/** @typedef {[number, number][]} Ranges */

const LIMIT = 2000;
const WORD = /\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu;

/** Words, spaces and single marks. @param {string} text @returns {string[]} */
const split = (text) => text.match(WORD) ?? [];

/** Character ranges of `a` that `b` lacks, and of `b` that `a` lacks.
 * @param {string} a @param {string} b @returns {[Ranges, Ranges]} */
export function diff(a, b) {
  const [A, B] = [split(a), split(b)];
  let head = 0;
  while (head < A.length && head < B.length && A[head] === B[head]) head++;
  let tail = 0;
  while (tail < A.length - head && tail < B.length - head && A[A.length - 1 - tail] === B[B.length - 1 - tail]) tail++;
  const [a2, b2] = [A.slice(head, A.length - tail), B.slice(head, B.length - tail)];
  const [ka, kb] = edits(a2, b2);
  const from = A.slice(0, head).join("").length;
  return [ranges(a2, ka, from), ranges(b2, kb, from)];
}

/** Mark the words that both texts share, with Myers' greedy algorithm.
 * @param {string[]} a @param {string[]} b @returns {[Uint8Array, Uint8Array]} */
function edits(a, b) {
  const [n, m] = [a.length, b.length];
  const keepA = new Uint8Array(n),
    keepB = new Uint8Array(m);
  const most = Math.min(n + m, LIMIT);
  const v = new Int32Array(2 * most + 3);
  /** @type {Int32Array[]} */
  const trace = [];
  const at = (/** @type {Int32Array} */ w, /** @type {number} */ k) => w[k + most + 1] ?? 0;
  let done = false;
  for (let d = 0; d <= most && !done; d++) {
    trace.push(v.slice(most + 1 - d - 1, most + 1 + d + 2));
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && at(v, k - 1) < at(v, k + 1)) ? at(v, k + 1) : at(v, k - 1) + 1;
      while (x < n && x - k < m && a[x] === b[x - k]) x++;
      v[k + most + 1] = x;
      if (x >= n && x - k >= m) {
        done = true;
        break;
      }
    }
  }
  if (!done) return [keepA, keepB];
  let [x, y] = [n, m];
  for (let d = trace.length - 1; d >= 0; d--) {
    const w = /** @type {Int32Array} */ (trace[d]);
    const was = (/** @type {number} */ k) => w[k + d + 1] ?? 0;
    const k = x - y;
    const before = k === -d || (k !== d && was(k - 1) < was(k + 1)) ? k + 1 : k - 1;
    const px = d ? was(before) : 0,
      py = d ? px - before : 0;
    while (x > px && y > py && x > 0 && y > 0) {
      x--;
      y--;
      keepA[x] = 1;
      keepB[y] = 1;
    }
    [x, y] = [px, py];
  }
  return [keepA, keepB];
}

/** @param {string[]} words @param {Uint8Array} keep @param {number} from @returns {Ranges} */
function ranges(words, keep, from) {
  /** @type {Ranges} */
  const out = [];
  let at = from;
  words.forEach((word, i) => {
    const end = at + word.length;
    const last = out[out.length - 1];
    if (!keep[i]) {
      if (last && last[1] === at) last[1] = end;
      else out.push([at, end]);
    }
    at = end;
  });
  return out;
}

/** Cut a stretch of text where marks begin and end, into [from, to, inside a mark].
 * @param {number} from @param {number} to @param {Ranges} marks
 * @returns {[number, number, boolean][]} */
export function cut(from, to, marks) {
  /** @type {[number, number, boolean][]} */
  const out = [];
  let at = from;
  let lo = 0,
    hi = marks.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if ((marks[mid]?.[1] ?? 0) <= from) lo = mid + 1;
    else hi = mid;
  }
  for (let k = lo; k < marks.length; k++) {
    const [a, b] = /** @type {[number, number]} */ (marks[k]);
    if (a >= to) break;
    if (a > at) out.push([at, a, false]);
    out.push([Math.max(at, a), Math.min(b, to), true]);
    at = Math.min(b, to);
  }
  if (at < to) out.push([at, to, false]);
  return out;
}
