/** A chart. uPlot owns scales, cursor and zoom; this module draws. Only finite numbers come here
 * (base/chart/points.js filters them). After drawing, the element says what was drawn:
 * data-ink="series=1 points=400 gaps=1 nan=0". No other module imports uPlot. */

import uPlot from "uplot";
import { density as densityColor, faint } from "../base/chart/color.js";
import { ema, nearest, spacing } from "../base/chart/points.js";
import { axis, extent, linearZone, logAxis, robust } from "../base/chart/scale.js";
import { clamped, drawGround, labelEnds, straight, xLabels, yLabels } from "./axes.js";
import { cells, drawSeries } from "./marks.js";
import { isFlat, summary, xRange } from "./model.js";
import { colors } from "./theme-colors.js";

/** @typedef {import("../base/chart/points.js").Series} Series */
/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./model.js").Style} Style */
/** @typedef {import("./model.js").Acts} Acts */

const MANY = 12; // more series than this are grey, and only the one at the pointer has its colour
const FEW = 4; // at most this many series have bands, and names at their ends
const SMOOTHED = 25; // fewer points are not smoothed: a handful of evaluations is not noise

export class Chart {
  /** @param {HTMLElement} host @param {Acts | null} acts */
  constructor(host, acts) {
    this.host = host;
    this.acts = acts;
    /** @type {Model | null} */
    this.model = null;
    /** @type {uPlot | null} */
    this.plot = null;
    /** @type {[number, number]} */
    this.yRange = [0, 1];
    this.zone = 1;
    this.hovered = -1;
    this.flat = false;
    /** @type {(ArrayLike<number | null>)[]} */
    this.smoothed = [];
    /** Size of the host, if an observer knows it. Asking the host would force a layout.
     * @type {[number, number] | null} */
    this.size = null;
    /** @type {HTMLCanvasElement | null} */
    this.over = null;
    this.line = document.createElement("div");
    this.line.className = "caret";
    /** Called after drawing. Scales give pixels only then. */
    this.drawn = () => {};
  }

  /** Draw new data or a new look. @param {Model} model */
  set(model) {
    const old = this.model;
    this.model = model;
    this.flat = !model.heat && isFlat(model);
    this.fit(model);
    const [width, height] = this.size ?? [this.host.clientWidth, this.host.clientHeight];
    const same =
      this.plot &&
      old &&
      old.y === model.y &&
      old.xLabels === model.xLabels &&
      this.plot.width === width &&
      this.plot.height === height;
    if (same && this.plot) this.plot.batch((/** @type {uPlot} */ u) => u.setData(this.frameData(), true));
    else this.build(width, height);
  }

  /** Smooth the series and choose the range of y. @param {Model} m */
  fit(m) {
    this.smoothed = m.series.map((s) =>
      m.smooth > 0 && s.X.length + (s.before?.X.length ?? 0) >= SMOOTHED
        ? ema(s, m.smooth, Math.max(m.pace ?? 0, spacing(s)), s.before)
        : s.Mid,
    );
    if (m.heat) {
      this.yRange = [m.heat.edges[0], m.heat.edges[m.heat.edges.length - 1]];
      return;
    }
    const columns = m.series.flatMap((s) => (m.series.length <= FEW ? [s.Lo, s.Hi] : [s.Mid]));
    this.zone = m.y === "symlog" ? linearZone(columns) : 1;
    const log = m.y === "log" ? logAxis(columns) : null;
    this.yRange = log ?? (m.y === "robust" ? axis(robust(columns)) : axis(extent(columns), m.declared));
  }

  /** Two points that give uPlot its scales. The drawing itself comes from the model.
   * @returns {any} */
  frameData() {
    const m = /** @type {Model} */ (this.model);
    return [xRange(m), [...this.yRange]];
  }

  /** Make the uPlot. @param {number} width @param {number} height */
  build(width, height) {
    const m = /** @type {Model} */ (this.model);
    this.plot?.destroy();
    this.over = null;
    if (!width || !height) {
      this.plot = null;
      return;
    }
    const log = m.y === "log" && this.yRange[0] > 0;
    /** @type {any} */
    const y = { range: () => this.yRange, distr: log ? 3 : m.y === "symlog" ? 4 : 1, log: 10, asinh: this.zone };
    this.plot = new uPlot(
      {
        width,
        height,
        padding: [6, 4, m.xLabels ? 18 : 3, 4],
        legend: { show: false },
        ms: 1,
        pxAlign: 0,
        scales: {
          x: {
            time: false,
            range: () => xRange(/** @type {Model} */ (this.model)),
          },
          y,
        },
        axes: [{ show: false }, { show: false }],
        series: [{}, { paths: () => null, points: { show: false } }],
        cursor: {
          show: Boolean(this.acts),
          y: false,
          points: { show: false },
          drag: { x: true, y: false, setScale: false, dist: 4 },
          bind: /** @type {any} */ ({
            dblclick: () => () => {
              this.acts?.onWhole();
              return null;
            },
          }),
        },
        hooks: { draw: [() => this.draw()], setCursor: [() => this.moved()], setSelect: [() => this.selected()] },
      },
      this.frameData(),
      this.host,
    );
    this.plot.over.append(this.line);
    if (this.acts) this.listen(this.plot.over);
  }

  /** @param {HTMLElement} over */
  listen(over) {
    let down = 0;
    over.addEventListener("pointerdown", (e) => void (down = e.clientX));
    over.addEventListener("click", (e) => {
      if (Math.abs(e.clientX - down) < 4 && this.plot) this.acts?.onPick(this.plot.posToVal(e.offsetX, "x"));
    });
    over.addEventListener(
      "wheel",
      (e) => {
        if (!e.ctrlKey || !this.plot) return;
        e.preventDefault();
        this.acts?.onZoom(this.plot.posToVal(e.offsetX, "x"), Math.exp(Math.max(-1, Math.min(1, e.deltaY / 200))));
      },
      { passive: false },
    );
    over.addEventListener("mouseleave", () => this.acts?.onCursor(null, 0));
  }

  moved() {
    const u = this.plot;
    const left = u?.cursor.left ?? -1;
    if (!u || left < 0 || !u.over.matches(":hover")) return;
    this.acts?.onCursor(u.posToVal(left, "x"), u.posToVal(u.cursor.top ?? 0, "y"));
  }

  selected() {
    const u = this.plot;
    if (!u || u.select.width < 4) return;
    this.acts?.onRange(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  }

  /** Place the vertical line, at the pointer or at the step.
   * @param {number | null} x @param {boolean} hover */
  mark(x, hover) {
    const u = this.plot;
    const m = this.model;
    const inside = u && m && x !== null && x >= m.lo && x <= m.hi;
    this.line.hidden = !inside;
    this.line.classList.toggle("hover", hover);
    if (inside) this.line.style.transform = `translateX(${Math.round(u.valToPos(x, "x"))}px)`;
  }

  /** The values at x of the first `few` series, null for a series without a point near x.
   * @param {number} x @param {number} [few] */
  at(x, few = Infinity) {
    return (this.model?.series ?? []).slice(0, few).map((s) => {
      const i = nearest(s.X, x, Math.max(s.width, spacing(s)) * 0.75 + 1e-9);
      return i < 0 ? null : /** @type {number} */ (s.width > 1 ? s.Mid[i] : s.Last[i]);
    });
  }

  /** Give one of many series its colour; -1 for none. @param {number} index */
  highlight(index) {
    if (index === this.hovered) return;
    this.hovered = index;
    this.drawHovered();
  }

  /** Draw it on a second canvas. Drawing twenty lines at every move of the pointer would take a
   * frame. */
  drawHovered() {
    const [u, m, i] = [this.plot, this.model, this.hovered];
    const [s, style] = [m?.series[i], m?.styles[i]];
    if (!u || !m || !s || !style || m.series.length <= MANY) {
      this.over?.remove();
      this.over = null;
      return;
    }
    if (!this.over) {
      this.over = document.createElement("canvas");
      u.ctx.canvas.after(this.over);
    }
    [this.over.width, this.over.height] = [u.ctx.canvas.width, u.ctx.canvas.height]; // clears it
    const ctx = /** @type {CanvasRenderingContext2D} */ (this.over.getContext("2d"));
    const { x, y, box } = this.frame(u, m);
    drawSeries(ctx, s, this.lookOf(m, i, style.color), x, clamped(m, y, box), box);
  }

  /** The scales, as functions to pixels of the canvas, and the box of the plot.
   * @param {uPlot} u @param {Model} m */
  frame(u, m) {
    const { left, top, width, height } = u.bbox;
    const bent = m.y === "symlog" || (m.y === "log" && this.yRange[0] > 0);
    const y = bent
      ? (/** @type {number} */ v) => u.valToPos(v, "y", true)
      : straight(u, "y", this.yRange[0], this.yRange[1]);
    return {
      x: straight(u, "x", ...xRange(m)),
      y,
      box: { left, top, right: left + width, bottom: top + height, ratio: devicePixelRatio || 1 },
    };
  }

  draw() {
    const [u, m] = [this.plot, this.model];
    const canvas = u?.ctx;
    if (!m || !canvas || !u) return;
    const { x, y, box } = this.frame(u, m);
    const r = box.ratio;
    canvas.save();
    const ticks = drawGround(canvas, m, this.yRange, this.zone, box, x, y);
    canvas.beginPath();
    canvas.rect(box.left - 3 * r, box.top - 3 * r, box.right - box.left + 6 * r, box.bottom - box.top + 6 * r);
    canvas.clip();
    if (m.heat) cells(canvas, m.heat, x, y, (share) => densityColor(share, m.heat.from, m.heat.to));
    else this.drawAll(canvas, m, x, y, box);
    canvas.restore();
    yLabels(canvas, m, ticks, box, y);
    if (m.xLabels) xLabels(canvas, m, box, x);
    if (this.over) this.drawHovered();
    this.announce(m);
    this.drawn();
  }

  /** Draw every series, the first on top.
   * @param {CanvasRenderingContext2D} ctx @param {Model} m @param {any} x @param {any} y
   * @param {any} box */
  drawAll(ctx, m, x, y, box) {
    const within = clamped(m, y, box);
    const grey = m.series.length > MANY ? faint(colors().ink3 ?? "", 0.35) : "";
    ctx.lineJoin = "bevel"; // nobody sees the corners, and bevels take a third less time
    for (let i = m.series.length - 1; i >= 0; i--) {
      const s = /** @type {Series} */ (m.series[i]);
      drawSeries(ctx, s, this.lookOf(m, i, grey || (m.styles[i]?.color ?? "")), x, within, box);
    }
    if (m.series.length >= 2 && m.series.length <= FEW) labelEnds(ctx, m, this.smoothed, x, within, box);
  }

  /** @param {Model} m @param {number} i @param {string} color @returns {import("./marks.js").Look}
   */
  lookOf(m, i, color) {
    const style = /** @type {Style} */ (m.styles[i]);
    return {
      Y: /** @type {ArrayLike<number | null>} */ (this.smoothed[i]),
      color,
      dash: style.dashed ? [4, 3] : style.dash,
      band: m.series.length <= FEW,
      points: m.points,
      faintLine: m.series.length > MANY && color !== style.color,
    };
  }

  /** Say in data attributes what was drawn; tests wait for it. @param {Model} m */
  announce(m) {
    this.host.dataset.ink = summary(m);
    this.host.dataset.constant = String(this.flat);
    const smoothed = m.smooth > 0 ? (this.smoothed[0] ?? []) : [];
    if (smoothed.length) this.host.dataset.smooth = `first=${smoothed[0]} last=${smoothed[smoothed.length - 1]}`;
    else delete this.host.dataset.smooth;
  }

  destroy() {
    this.plot?.destroy();
    this.plot = null;
    delete this.host.dataset.ink;
  }
}
