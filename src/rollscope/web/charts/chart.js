/** A chart: uPlot owns scales, cursor and zoom; all ink is ours. Nothing non-finite reaches it (base/decode.js saw to that).
 *  After drawing, the element says what was drawn: data-ink="series=1 points=400 gaps=1 nan=0". The only file that imports uPlot. */

import uPlot from "uplot";
import { axis, extent, isConstant, linearZone, logAxis, robust } from "../base/chart/scale.js";

import { ema, nearest } from "../base/chart/points.js";
import { ground, labelEnds, xLabels, yLabels } from "./axes.js";
import { band, cells, dot, dots, line, nonFinite } from "./marks.js";
import { faint, ink } from "./theme-colors.js";
import { density as densityColor } from "../base/chart/color.js";

/** @typedef {import("../base/chart/points.js").Series} Series */
/** @typedef {{from: number, to: number | null, severity: string}} Interval */
/** @typedef {{color: string, dash: number[], label: string, dashed?: boolean}} Style */
/** @typedef {{series: Series[], styles: Style[], lo: number, hi: number, y: string, smooth: number, declared: [number | null, number | null], healthy: [number | null, number | null],
 *   intervals: Interval[], xLabels: boolean, x: string, started: number, stale: boolean, points: boolean, heat: any, unit: string, band?: boolean, pace?: number}} Model (`pace`: the distance on x that smoothing counts in, the same at every zoom) */
/** @typedef {{onCursor: (x: number | null, y: number) => void, onPick: (x: number) => void, onRange: (lo: number, hi: number) => void, onWhole: () => void, onZoom: (x: number, by: number) => void}} Acts */

const MANY = 8;
const SMOOTHED = 25; // a handful of evaluations is not noise to be averaged away

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
    /** Width and height of the host where somebody watches them; asking the host lays the page out. @type {[number, number] | null} */
    this.size = null;
    /** @type {HTMLCanvasElement | null} */
    this.over = null;
    this.line = document.createElement("div");
    this.line.className = "caret";
    /** Called when ink is on the canvas: only then do scales give places. */
    this.drawn = () => {};
  }

  /** New data or another look. @param {Model} model */
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

  /** @param {Model} m */
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
    const wide = m.series.length <= 4 && m.band !== false;
    const columns = m.series.flatMap((s) => (wide ? [s.Lo, s.Hi] : [s.Mid]));
    this.zone = m.y === "symlog" ? linearZone(columns) : 1;
    const log = m.y === "log" ? logAxis(columns) : null;
    this.yRange =
      log ?? axis(m.y === "robust" ? robust(columns) : extent(columns), m.y === "robust" ? [null, null] : m.declared);
  }

  /** uPlot needs two points to have a scale; the ink is drawn from the model. @returns {any} */
  frameData() {
    const m = /** @type {Model} */ (this.model);
    return [
      [m.lo, m.hi > m.lo ? m.hi : m.lo + 1],
      [this.yRange[0], this.yRange[1]],
    ];
  }

  /** @param {number} width @param {number} height */
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
            range: () => {
              const n = /** @type {Model} */ (this.model);
              return [n.lo, n.hi > n.lo ? n.hi : n.lo + 1];
            },
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
    over.addEventListener("pointerdown", (e) => {
      down = e.clientX;
    });
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

  /** The vertical line: under the pointer, else the step. @param {number | null} x @param {boolean} hover */
  mark(x, hover) {
    const u = this.plot;
    const m = this.model;
    const inside = u && m && x !== null && x >= m.lo && x <= m.hi;
    this.line.hidden = !inside;
    this.line.classList.toggle("hover", hover);
    if (inside) this.line.style.transform = `translateX(${Math.round(u.valToPos(x, "x"))}px)`;
  }

  /** The values at x, one per series or of the first few; null where there is none near. @param {number} x @param {number} [few] */
  at(x, few = Infinity) {
    return (this.model?.series ?? []).slice(0, few).map((s, k) => {
      const i = nearest(s.X, x, Math.max(s.width, spacing(s)) * 0.75 + 1e-9);
      return i < 0
        ? null
        : {
            x: /** @type {number} */ (s.X[i]),
            value: /** @type {number} */ (s.width > 1 ? s.Mid[i] : s.Last[i]),
            low: /** @type {number} */ (s.Lo[i]),
            high: /** @type {number} */ (s.Hi[i]),
            n: /** @type {number} */ (s.N[i]),
            smooth: this.smoothed[k]?.[i] ?? null,
          };
    });
  }

  /** Of many series, the one nearest to the pointer in colour; -1: none. @param {number} index */
  highlight(index) {
    if (index === this.hovered) return;
    this.hovered = index;
    this.shine();
  }

  /** It is drawn on a canvas of its own, over the others: drawing twenty lines anew with every move of the pointer would take a frame. */
  shine() {
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
    [this.over.width, this.over.height] = [u.ctx.canvas.width, u.ctx.canvas.height]; // also clears it
    const ctx = /** @type {CanvasRenderingContext2D} */ (this.over.getContext("2d"));
    const { x, y, box } = this.frame(u, m);
    this.drawOne(ctx, s, i, style.color, style, m, x, clamped(m, y, box), box);
  }

  /** Where numbers lie on the canvas. @param {uPlot} u @param {Model} m */
  frame(u, m) {
    const { left, top, width, height } = u.bbox;
    const bent = m.y === "symlog" || (m.y === "log" && this.yRange[0] > 0);
    const y = bent
      ? (/** @type {number} */ v) => u.valToPos(v, "y", true)
      : straight(u, "y", this.yRange[0], this.yRange[1]);
    return {
      x: straight(u, "x", m.lo, m.hi > m.lo ? m.hi : m.lo + 1),
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
    const ticks = ground(canvas, m, this.yRange, this.zone, box, x, y);
    canvas.beginPath();
    canvas.rect(box.left - 3 * r, box.top - 3 * r, box.right - box.left + 6 * r, box.bottom - box.top + 6 * r);
    canvas.clip();
    if (m.heat) cells(canvas, m.heat, x, y, (share) => densityColor(share, m.heat.from, m.heat.to));
    else this.drawSeries(canvas, m, x, y, box);
    canvas.restore();
    yLabels(canvas, m, ticks, box, y);
    if (m.xLabels) xLabels(canvas, m, box, x);
    if (this.over) this.shine();
    this.announce(m);
    this.drawn();
  }

  /** @param {CanvasRenderingContext2D} ctx @param {Model} m @param {any} x @param {any} y @param {any} box */
  drawSeries(ctx, m, x, y, box) {
    const within = clamped(m, y, box);
    const grey = m.series.length > MANY ? faint(ink().ink3 ?? "", 0.35) : "";
    ctx.lineJoin = "bevel"; // at this width nobody sees the corner, and it takes a third less
    for (let i = m.series.length - 1; i >= 0; i--) {
      const [s, style] = [/** @type {Series} */ (m.series[i]), /** @type {Style} */ (m.styles[i])];
      this.drawOne(ctx, s, i, grey || style.color, style, m, x, within, box);
    }
    if (m.series.length >= 2 && m.series.length <= 4) labelEnds(ctx, m, this.smoothed, x, within, box);
  }

  /** @param {CanvasRenderingContext2D} ctx @param {Series} s @param {number} i @param {string} color @param {Style} style @param {Model} m @param {any} x @param {any} y @param {any} box */
  drawOne(ctx, s, i, color, style, m, x, y, box) {
    const r = box.ratio;
    const Y = /** @type {ArrayLike<number | null>} */ (this.smoothed[i]);
    const isSmooth = Y !== s.Mid;
    ctx.setLineDash([]);
    if (m.series.length <= 4 && m.band !== false) {
      ctx.fillStyle = faint(color, 0.14);
      band(ctx, s, x, y);
    }
    ctx.strokeStyle = isSmooth ? faint(color, 0.35) : color;
    const crowd = m.series.length > MANY && color !== style.color; // a line of one pixel takes a tenth of the time
    ctx.lineWidth = (isSmooth || crowd ? 1 : m.points ? 1.5 : 1.25) * r;
    ctx.setLineDash((style.dashed ? [4, 3] : style.dash).map((d) => d * r));
    line(ctx, s, s.Mid, x, y);
    if (isSmooth) {
      ctx.strokeStyle = color;
      ctx.lineWidth = (crowd ? 1 : 1.6) * r;
      line(ctx, s, Y, x, y);
    }
    ctx.setLineDash([]);
    ctx.fillStyle = color;
    dots(ctx, s, s.Mid, x, y, (m.points ? 3 : 2) * r, m.points);
    const last = s.X.length - 1;
    if (last >= 0 && !m.points) dot(ctx, x(s.X[last]), y(Y[last]), 2.5 * r);
    ctx.strokeStyle = color;
    ctx.lineWidth = 1.25 * r;
    nonFinite(ctx, s, x, box, 4 * r);
  }

  /** @param {Model} m */
  announce(m) {
    const sum = (/** @type {(s: Series) => number} */ of) => m.series.reduce((n, s) => n + of(s), 0);
    const counted = (/** @type {[number, number][]} */ marks) => marks.reduce((n, [, c]) => n + c, 0);
    const inf = sum((s) => counted(s.marks.up) + counted(s.marks.down));
    const columns = m.heat ? m.heat.X.length : sum((s) => s.X.length);
    this.host.dataset.ink = `series=${m.heat ? 1 : m.series.length} points=${columns} gaps=${sum((s) => s.gaps)} nan=${sum((s) => counted(s.marks.nan))} inf=${inf} lo=${round(m.lo)} hi=${round(m.hi)}`;
    if (m.smooth > 0 && this.smoothed[0]?.length)
      this.host.dataset.smooth = `first=${this.smoothed[0][0]} last=${this.smoothed[0][this.smoothed[0].length - 1]}`;
    else delete this.host.dataset.smooth;
    this.host.dataset.constant = String(this.flat);
  }

  destroy() {
    this.plot?.destroy();
    this.plot = null;
    delete this.host.dataset.ink;
  }
}

/** @param {Model} m */
function isFlat(m) {
  const range = extent(m.series.flatMap((s) => [s.Lo, s.Hi]));
  return range !== null && isConstant(range) && m.series.every((s) => s.X.length > 1);
}

/** A linear scale as two numbers, asked for once. @param {uPlot} u @param {string} key @param {number} lo @param {number} hi */
function straight(u, key, lo, hi) {
  const from = u.valToPos(lo, key, true);
  const by = (u.valToPos(hi, key, true) - from) / (hi - lo || 1);
  return (/** @type {number} */ v) => from + (v - lo) * by;
}

/** Ink goes no further than just outside the box. @param {Model} m @param {(v: number) => number} y @param {{top: number, bottom: number, ratio: number}} box */
function clamped(m, y, box) {
  const [low, high] = [box.bottom + 4 * box.ratio, box.top - 4 * box.ratio];
  const within = (/** @type {number} */ v) => Math.max(high, Math.min(low, y(v)));
  return m.y === "log" ? (/** @type {number} */ v) => (v > 0 ? within(v) : low) : within;
}

/** Usual distance of two points. @param {Series} s */
function spacing(s) {
  const n = s.X.length;
  const [first, last] = [/** @type {number} */ (s.X[0]), /** @type {number} */ (s.X[n - 1])];
  return n > 1 ? Math.max(s.width, (last - first) / (n - 1)) : s.width;
}

/** @param {number} v */
const round = (v) => Math.round(v * 1000) / 1000;
