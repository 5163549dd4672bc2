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

const isList = ({ skill, view }) => !skill && !view;

/** Return how many entries of the history a new one will be from the list; 0 where it was not come from. */
function depthAfter() {
  if (isList(address.get())) return 1;
  return history.state?.depth ? history.state.depth + 1 : 0;
}

/** Show something else. What is typed replaces the entry of the history; what is chosen adds one. */
export function go(changes, { replace = false } = {}) {
  const depth = replace ? (history.state?.depth ?? 0) : depthAfter();
  history[replace ? "replaceState" : "pushState"]({ depth }, "", link(changes));
  address.set(read());
}

/** Close a skill or a view: go back to the list where we came from it, so that it is not in the history twice. */
export function leave() {
  const depth = history.state?.depth;
  if (depth) history.go(-depth);
  else go({ skill: "", file: "", view: "" }, { replace: true });
}

/** Follow one of our links without loading the page anew, unless it is to be opened elsewhere. */
export function follow(event, changes) {
  if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(changes);
}

addEventListener("popstate", () => address.set(read()));
