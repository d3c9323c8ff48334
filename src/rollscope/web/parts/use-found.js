/** What a name that a person types means: ask the server, which knows every framework's names. */

import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "./use-answer.js";
import { part } from "../wire/api.js";

const PAUSE = 120; // ms without a key press before the server is asked

/** The answer for a name of one word, or null while there is none. `path` is the address of a
 * question that takes a name.
 * @param {string} path @param {string} query @returns {any} */
export function useFound(path, query) {
  const typed = query.trim();
  const [name, setName] = useState(typed);
  useEffect(() => {
    const later = setTimeout(() => setName(typed), PAUSE);
    return () => clearTimeout(later);
  }, [typed]);
  const [answer] = useAnswer(path && name && !/\s/.test(name) ? `${path}?name=${part(name)}` : "");
  return answer?.asked === typed ? answer : null;
}
