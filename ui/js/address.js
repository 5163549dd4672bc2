/** What the page shows stands in its URL, so that it can be shared, reloaded and gone back to. */

import { pathOf } from "./api.js";
import { BASE } from "./base.js";
import { savePlace } from "./place.js";
import { store } from "./store.js";

const SINGLE = ["q", "source", "scope", "status", "risk", "author", "license", "os", "agent", "sort", "view", "tab"];
const SEVERAL = ["tag", "capability"];
const ROOTS = ["/", "/dashboard", "/registry"];
const SKILLS = "/skills/";

/** What the address of a list without filters has. */
export const CLEARED = { source: "", scope: "", status: "", risk: "", author: "", license: "", os: "", agent: "", sort: "", tab: "", tag: [], capability: [] };
const CLOSED = { skill: "", version: "", from: "", file: "", line: "", anchor: "" };

/** How anchors in the texts of skills begin, so that none can pose as a part of the page. */
export const ANCHOR = "text-";

const MOST_QUERY = 4000; // bytes of it in an address: the service takes 8,192 of the whole

let fitted = { q: "", part: "" }; // every card of a list has the address of the same query

/** Return the part of a query that an address has room for. */
function fitting(q) {
  if (fitted.q === q) return fitted.part;
  const fits = (text) => new URLSearchParams({ q: text }).toString().length <= MOST_QUERY;
  let shown = [...q].slice(0, MOST_QUERY);
  while (!fits(shown.join(""))) shown = shown.slice(0, Math.floor(shown.length * 0.9));
  fitted = { q, part: shown.join("") };
  return fitted.part;
}

function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Return the path of the page below that of the service. */
export const here = () => (location.pathname.startsWith(`${BASE}/`) ? location.pathname.slice(BASE.length) : location.pathname);

/** Return the skill of a path such as `/skills/acme/pdf@1.4.0`. Encoded ids hold no `@`. */
function skillOf(path) {
  if (!path.startsWith(SKILLS)) return { skill: "", version: "" };
  const [skill, version = ""] = path.slice(SKILLS.length).split("@");
  return { skill: skill.split("/").map(plain).join("/"), version: plain(version) };
}

function read() {
  const given = new URLSearchParams(location.search);
  const single = SINGLE.map((name) => [name, given.get(name) ?? ""]);
  const several = SEVERAL.map((name) => [name, [...new Set(given.getAll(name))].filter(Boolean)]);
  const place = skillOf(here());
  const q = given.get("q") ?? "";
  const whole = history.state?.q; // of a query that is too long for an address
  place.skill ||= given.get("skill") ?? ""; // as skills were addressed before they had paths
  const isUnknown = !ROOTS.includes(here()) && !here().startsWith(SKILLS);
  const line = /^#L(\d+)$/.exec(location.hash)?.[1] ?? "";
  const anchor = location.hash.startsWith(`#${ANCHOR}`) ? plain(location.hash.slice(1)) : "";
  return { ...Object.fromEntries([...single, ...several]), ...(q && whole?.startsWith(q) && { q: whole }), ...place, file: given.get("file") ?? "", from: given.get("from") ?? "", line, anchor, isUnknown };
}

export const address = store(read());

export const isFiltered = ({ source, scope, status, risk, author, license, os, agent, tag, capability }) =>
  Boolean(source || scope || status || risk || author || license || os || agent || tag.length || capability.length);

/** Return whether nothing is looked for yet. */
export const isStart = (at) => !at.q && !at.skill && !at.view && !at.sort && !isFiltered(at) && !at.isUnknown;

const isList = ({ skill, view }) => !skill && (!view || view === "skills");

function skillLink({ skill, version, from, file, line, anchor }) {
  const parts = new URLSearchParams({ ...(file && { file }), ...(from && version && { from }) }).toString();
  const path = BASE + SKILLS + pathOf(skill) + (version ? `@${encodeURIComponent(version)}` : "");
  return path + (parts ? `?${parts}` : "") + (line ? `#L${line}` : anchor ? `#${anchor}` : "");
}

/** Return the link to the page as it is but for `changes`. */
export function link(changes, from = address.get()) {
  const closed = "skill" in changes ? CLOSED : "file" in changes ? { line: "", anchor: "", from: "" } : {};
  const next = { ...from, ...closed, ...changes };
  if (next.skill) return skillLink(next);
  if (next.view === "skills" && (next.q || next.sort || isFiltered(next))) next.view = "";
  if (next.view !== "admin") next.tab = "";
  const parts = new URLSearchParams();
  for (const name of SINGLE) if (next[name]) parts.set(name, name === "q" ? fitting(next.q) : next[name]);
  for (const name of SEVERAL) for (const value of next[name]) parts.append(name, value);
  const text = parts.toString();
  const root = BASE + (ROOTS.includes(here()) ? here() : "/");
  return text ? `${root}?${text}` : root;
}

/** Return how many entries of the history a new one will be from the list; 0 where it was not come from. */
function depthAfter() {
  if (isList(address.get())) return 1;
  return history.state?.depth ? history.state.depth + 1 : 0;
}

/** Show something else. What is typed replaces the entry of the history; what is chosen adds one. */
export function go(changes, { replace = false } = {}) {
  const depth = replace ? (history.state?.depth ?? 0) : depthAfter();
  const q = changes.q ?? address.get().q;
  if (!replace) savePlace();
  history[replace ? "replaceState" : "pushState"](fitting(q) === q ? { depth } : { depth, q }, "", link(changes));
  address.set(read());
}

/** Close a skill or a view: go back to the list where we came from it, so that it is not in the history twice. */
export function leave() {
  const depth = history.state?.depth;
  if (depth) history.go(-depth);
  else go({ skill: "", view: "" }, { replace: true });
}

/** Return whether a link is to be opened elsewhere than on this page. */
export const isElsewhere = (event) => Boolean(event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);

/** Follow one of our links without loading the page anew, unless it is to be opened elsewhere. */
export function follow(event, changes) {
  if (isElsewhere(event)) return;
  event.preventDefault();
  go(changes);
}

/** Follow a link within the page as browsers do, but keep how far the list is, and where one was. */
function followWithin(event) {
  const to = event.target.closest?.('a[href^="#"]');
  if (!to || event.defaultPrevented || isElsewhere(event)) return;
  event.preventDefault();
  if (to.hash !== location.hash) {
    savePlace();
    history.pushState({ depth: depthAfter() }, "", to.hash);
    address.set(read());
  }
  const place = document.getElementById(plain(to.hash.slice(1)));
  if (!place) return;
  place.tabIndex = -1;
  place.focus({ preventScroll: true });
  place.scrollIntoView();
}

addEventListener("click", followWithin);
addEventListener("popstate", () => address.set(read()));
if (new URLSearchParams(location.search).has("skill")) {
  history.replaceState(history.state, "", skillLink(address.get()));
}
