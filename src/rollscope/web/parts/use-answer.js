/** Answers of the API: a hook that fetches one, and its numbers. */

import { useLayoutEffect, useState } from "preact/hooks";
import { returned } from "../state.js";
import { get } from "../wire/api.js";

/** The answer and the error message of a path; "" fetches nothing. It fetches again when the server
 * comes back, and when `version` changes.
 * @param {string} path @param {unknown} [version] @returns {[any, string]} */
export function useAnswer(path, version) {
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const [error, setError] = useState("");
  useLayoutEffect(() => {
    const abort = new AbortController();
    setError("");
    if (path)
      get(path, abort.signal).then(setAnswer, (e) => {
        if (e.name !== "AbortError") {
          setAnswer(null);
          setError(e.message);
        }
      });
    return () => abort.abort();
  }, [path, version, returned.value]);
  return [answer, error];
}

/** A number of the API, where NaN and infinities are words. @param {any} v */
export const numberOf = (v) => (v === "NaN" ? NaN : v === "Infinity" ? Infinity : v === "-Infinity" ? -Infinity : v);
