/** The board that comes with the catalogue: what to watch for the run's algorithm. */

/** @typedef {import("../wire/types.gen").WatchList} WatchList */

/** The watch list as a board. @param {WatchList | null} watch */
export const boardOf = (watch) =>
  watch && {
    name: watch.title,
    board: {
      panels: watch.charts.map((names, i) => ({
        id: `watch-${i}`,
        kind: /** @type {const} */ ("chart"),
        title: "",
        size: 1,
        metrics: names.map((name) => ({ name })),
        text: "",
        query: "",
        order: "worst",
      })),
    },
  };
