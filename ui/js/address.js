/** What the page shows stands in its URL, so that it can be shared, reloaded and gone back to. */

import { store } from "./store.js";

const SINGLE = ["q", "source", "status", "risk", "sort", "skill", "file", "view"];
const SEVERAL = ["tag", "capability"];

function read() {
  const given = new URLSearchParams(location.search);
  const single = SINGLE.map((name) => [name, given.get(name) ?? ""]);
  const several = SEVERAL.map((name) => [name, [...new Set(given.getAll(name))].filter(Boolean)]);
  return Object.fromEntries([...single, ...several]);
}

export const address = store(read());

/** Return the link to the page as it is but for `changes`. */
export function link(changes, from = address.get()) {
  const next = { ...from, ...changes };
  const parts = new URLSearchParams();
  for (const name of SINGLE) if (next[name]) parts.set(name, next[name]);
  for (const name of SEVERAL) for (const value of next[name]) parts.append(name, value);
  const text = parts.toString();
  return text ? `?${text}` : location.pathname;
}

/** Show something else. What is typed replaces the entry of the history; what is chosen adds one. */
export function go(changes, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"]({ within: !replace || history.state?.within }, "", link(changes));
  address.set(read());
}

/** Close what `changes` would close: the way back where we came from the list, so that it is not there twice. */
export function leave(changes) {
  if (history.state?.within) history.back();
  else go(changes, { replace: true });
}

/** Follow one of our links without loading the page anew, unless it is to be opened elsewhere. */
export function follow(event, changes) {
  if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(changes);
}

addEventListener("popstate", () => address.set(read()));
