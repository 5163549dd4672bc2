"use strict";

const DEBOUNCE_MS = 120;
const query = document.getElementById("query");
const statusLine = document.getElementById("status");
const main = document.querySelector("main");
const results = document.getElementById("results");
let timer;
let latest = new AbortController();

/** Make an element; texts only ever become text nodes. */
function element(tag, className, ...children) {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...children);
  return made;
}

function card({ relevance, matched_by: matchedBy, skill }) {
  const reasons = element("span", "reasons", ...matchedBy.map((reason) => element("span", "reason", reason)));
  const facts = [skill.version && `v${skill.version}`, skill.source, skill.author, skill.license];
  const made = element(
    "li", "card",
    element("div", "head", element("h2", "", skill.name), element("span", `relevance ${relevance}`, relevance), reasons),
    element("code", "id", skill.id),
    element("p", "description", skill.description ?? ""),
    element("div", "tags", ...(skill.tags ?? []).map((tag) => element("span", "tag", tag))),
    element("p", "facts", facts.filter(Boolean).join(" · ")),
  );
  made.tabIndex = -1;
  return made;
}

function show(text, cards = []) {
  main.removeAttribute("aria-busy");
  statusLine.textContent = text;
  results.replaceChildren(...cards);
}

function summary({ count, mode, took_ms: took, warnings }) {
  if (count === 0) return ["No skill fits. Try other words.", ...warnings].join(" · ");
  const noun = count === 1 ? "skill" : "skills";
  return [`${count} ${noun}`, mode, `${took.toFixed(1)} ms`, ...warnings].join(" · ");
}

async function fetchJson(url, signal) {
  const response = await fetch(url, { signal, headers: { Accept: "application/json" } });
  const answer = await response.json();
  if (!answer.success) throw new Error(answer.error.message);
  return answer.data;
}

/** Search, unless a newer search begins: that one aborts this one, so an old answer is never shown. */
async function search() {
  latest.abort();
  latest = new AbortController();
  const { signal } = latest;
  const text = query.value.trim();
  history.replaceState(null, "", text ? `?q=${encodeURIComponent(text)}` : location.pathname);
  if (!text) {
    show("Describe a task in your own words, or type a name.");
    return;
  }
  main.setAttribute("aria-busy", "true");
  try {
    const found = await fetchJson(`/api/v1/search?q=${encodeURIComponent(text)}&limit=20`, signal);
    if (!signal.aborted) show(summary(found), found.skills.map(card));
  } catch (error) {
    if (!signal.aborted) show(`The search failed: ${error.message}`);
  }
}

/** Move between the search box and the cards with the arrow keys; Escape goes back to the box. */
function move(event) {
  const stops = [query, ...results.children];
  const here = stops.indexOf(document.activeElement);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const next = event.key === "Escape" ? query : step && stops[here + step];
  if (!next || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key !== "Escape") event.preventDefault();
  next.focus();
}

query.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(search, DEBOUNCE_MS);
});
document.addEventListener("keydown", move);
query.value = new URLSearchParams(location.search).get("q") ?? "";
search();
