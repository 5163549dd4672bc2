/** What is found: by the service's search where words are given, else in its list of all skills. */

import { useEffect, useRef, useState } from "../vendor/htm-3.1.1/standalone.module.js";
import { paged, post } from "./api.js";
import { explainer } from "./explanation.js";
import { facets } from "./facets.js";
import { noteShown } from "./feedback.js";
import { savedPlace } from "./place.js";

const PAGE = 20; // as many as are drawn in one short task, and as many as the service finds passages for at once

const STATES = { installed: { installed: true }, available: { installed: false }, disabled: { enabled: false } };

/** Return the filters of an address as the service calls them. */
function filtersOf({ source, scope, status, risk: max_risk, author, license, os, agent, tag: tags, capability: capabilities }) {
  const single = Object.entries({ source, scope, max_risk, author, license, os, agent }).filter(([, value]) => value.trim());
  return { tags, capabilities, ...STATES[status], ...Object.fromEntries(single) };
}

const asked = (address, offset) =>
  ({ query: address.q, limit: PAGE, offset, filters: filtersOf(address), highlight: true, facets: offset === 0 });

/** Return whether a search ranks weak matches too: by words alone, nobody can say which are weak. */
export const hasWeak = ({ mode }) => mode !== "keyword";

export const isWeak = ({ relevance }) => relevance === "low";

/** Return whether a search has a close match: it would be on the first page. */
export const hasClose = ([first = []]) => first.some(({ relevance }) => relevance === "high");

/** Return the service's counts in the form of those of the list. */
function shaped({ sources, tags, capabilities, authors, licenses, systems, agents, risks, installed }) {
  const total = sources.reduce((sum, [, number]) => sum + number, 0);
  const values = { tag: tags, capability: capabilities, author: authors, license: licenses, os: systems, agent: agents };
  return { ...values, source: new Map(sources), risks: Object.fromEntries(risks), installed, total, isCounted: true };
}

/** Return the values that the service has found, without their numbers: those count the weak matches too. */
function uncounted(counted) {
  const { sources, tags, capabilities, authors, licenses, systems, agents } = counted;
  const bare = (pairs) => pairs.map(([value]) => [value, undefined]);
  const values = { tag: bare(tags), capability: bare(capabilities), author: bare(authors), license: bare(licenses) };
  const needs = { os: bare(systems), agent: bare(agents) };
  return { ...values, ...needs, source: new Map(bare(sources)), isCounted: false };
}

/** Return the values of all close matches with their numbers, once the last of them is there. */
function counted(pages, isLast) {
  const hits = pages.flat();
  const close = hits.filter((hit) => !isWeak(hit)).map(({ skill }) => skill);
  if (!isLast && close.length === hits.length) return undefined;
  const source = new Map();
  for (const card of close) source.set(card.source, (source.get(card.source) ?? 0) + 1);
  return { ...facets(close), source, isCounted: true };
}

async function searched(address, offset, signal) {
  const question = asked(address, offset);
  const found = await post("/api/v1/search", question, { signal });
  noteShown(found);
  const explain = explainer({ ...question, facets: false });
  const hits = found.skills.map((hit) => ({ ...hit, explain }));
  return { ...found, hits, took: found.took_ms, isSearch: true, facets: found.facets && (hasWeak(found) ? uncounted : shaped)(found.facets), isLast: found.count < PAGE };
}

/** Return labels for a query string, where a comma would part them. */
const quoted = (labels) => labels.map((label) => label.replaceAll(",", "\\,"));

async function listed(address, offset, signal) {
  const filters = filtersOf(address);
  const wanted = { ...filters, tags: quoted(filters.tags), capabilities: quoted(filters.capabilities), sort: address.sort || "source", facets: offset === 0 };
  const { rows, total, facets: counts } = await paged("/api/v1/skills", PAGE, offset, signal, wanted);
  const hits = rows.map((skill) => ({ skill }));
  // Each source has its own number there, which counts all of its skills.
  return { hits, total, facets: counts && { ...shaped(counts), source: undefined }, warnings: [], isLast: offset + hits.length >= total };
}

function joined(before, page, key) {
  const pages = [...before.pages, page.hits];
  const shown = pages.reduce((sum, hits) => sum + hits.length, 0);
  const exact = page.isSearch && hasWeak(page) ? counted(pages, page.isLast) : undefined;
  const known = before.facets?.isCounted ? before.facets : exact ?? page.facets ?? before.facets;
  const close = pages.flat().filter((hit) => !isWeak(hit)).length;
  return { ...page, phase: "ready", of: key, pages, shown, close, facets: known, offset: before.offset + page.hits.length };
}

const NOTHING = { pages: [], offset: 0 };

/**
 * Use what fits the address: `{phase, pages, shown, facets, …}` and `more`, which adds the next page.
 *
 * Only the answer to the newest question is ever taken; until it comes, what was found before stays.
 */
export function useResults(address, isAsked, turn) {
  const [results, setResults] = useState({ phase: "loading", ...NOTHING });
  const newest = useRef(null);
  const { q, source, scope, status, risk, author, license, os, agent, tag, capability, sort } = address;
  const key = JSON.stringify([q.trim(), source, scope, status, risk, author, license, os, agent, tag, capability, sort, turn]);

  async function ask(before, signal, number = 1) {
    const question = { ...address, q: q.trim() };
    const find = question.q ? searched : listed;
    try {
      const pages = await Promise.all(Array.from({ length: number }, (_, index) => find(question, before.offset + index * PAGE, signal)));
      if (!signal.aborted) setResults(pages.reduce((found, page) => joined(found, page, key), before));
    } catch (error) {
      if (!signal.aborted) setResults((now) => ({ ...now, phase: "error", error, isMore: before.offset > 0 }));
    }
  }

  useEffect(() => {
    if (!isAsked) return undefined;
    const controller = new AbortController();
    newest.current = controller;
    setResults((now) => ({ ...now, phase: "loading" }));
    ask(NOTHING, controller.signal, savedPlace().pages);
    return () => controller.abort();
  }, [key, isAsked]);

  const more = () => {
    if (results.phase === "loading" || results.phase === "more" || results.isLast) return;
    setResults((now) => ({ ...now, phase: "more" }));
    ask(results, newest.current.signal);
  };
  return { ...results, more };
}
