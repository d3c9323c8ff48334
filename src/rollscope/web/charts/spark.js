/** A sparkline: a line, a gap where there is nothing, a dot at the end. */

/** @param {HTMLCanvasElement} canvas @param {(number | null)[]} values @param {string} color @param {number} width @param {number} height */
export function spark(canvas, values, color, width, height) {
  const ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const known = /** @type {number[]} */ (values.filter((v) => v !== null));
  if (!known.length) return;
  const [lo, hi] = [Math.min(...known), Math.max(...known)];
  const x = (/** @type {number} */ i) => (2 + ((width - 6) * i) / Math.max(1, values.length - 1)) * ratio;
  const y = (/** @type {number} */ v) =>
    (hi > lo ? height - 3 - ((height - 6) * (v - lo)) / (hi - lo) : height / 2) * ratio;
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.25 * ratio;
  ctx.lineJoin = "round";
  ctx.beginPath();
  let pen = false;
  values.forEach((v, i) => {
    if (v === null) {
      pen = false;
      return;
    }
    if (pen) ctx.lineTo(x(i), y(v));
    else ctx.moveTo(x(i), y(v));
    pen = true;
  });
  ctx.stroke();
  const last = values.findLastIndex((v) => v !== null);
  ctx.fillStyle = color;
  ctx.beginPath();
  ctx.arc(x(last), y(/** @type {number} */ (values[last])), 2 * ratio, 0, Math.PI * 2);
  ctx.fill();
}
