/** What is found: by the service's search where words are given, else the list of the catalog. */

import { useEffect, useRef, useState } from "../vendor/htm-3.1.1/standalone.module.js";
import { post } from "./api.js";
import { list } from "./catalog.js";
import { explainer } from "./explanation.js";
import { facets } from "./facets.js";
import { noteShown } from "./feedback.js";

const PAGE = 20; // as many as are drawn in one short task, and as many as the service finds passages for at once

function asked({ q, source, scope, status, risk, author, license, os, agent, tag, capability }, offset) {
  const filters = { tags: tag, capabilities: capability };
  if (source) filters.source = source;
  if (scope) filters.scope = scope;
  if (status) filters.installed = status === "installed";
  if (risk) filters.max_risk = risk;
  if (author.trim()) filters.author = author;
  if (license.trim()) filters.license = license;
  if (os.trim()) filters.os = os;
  if (agent.trim()) filters.agent = agent;
  return { query: q, limit: PAGE, offset, filters, highlight: true, facets: offset === 0 };
}

/** Return whether a search ranks weak matches too: by words alone, nobody can say which are weak. */
export const hasWeak = ({ mode }) => mode !== "keyword";

export const isWeak = ({ relevance }) => relevance === "low";

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

async function listed(address, offset) {
  const { source, scope, status, risk, author, license, os, agent, tag, capability, sort } = address;
  const page = await list({ source, scope, status, risk, author, license, os, agent, tag, capability, sort }, offset, PAGE);
  const hits = page.cards.map((skill) => ({ skill }));
  return { hits, total: page.total, facets: page.facets && { ...page.facets, isCounted: true }, warnings: [], isLast: offset + hits.length >= page.total };
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

  async function ask(before, signal) {
    const question = { ...address, q: q.trim() };
    try {
      const page = await (question.q ? searched : listed)(question, before.offset, signal);
      if (!signal.aborted) setResults(joined(before, page, key));
    } catch (error) {
      if (!signal.aborted) setResults((now) => ({ ...now, phase: "error", error }));
    }
  }

  useEffect(() => {
    if (!isAsked) return undefined;
    const controller = new AbortController();
    newest.current = controller;
    setResults((now) => ({ ...now, phase: "loading" }));
    ask(NOTHING, controller.signal);
    return () => controller.abort();
  }, [key, isAsked]);

  const more = () => {
    if (results.phase !== "ready" || results.isLast) return;
    setResults((now) => ({ ...now, phase: "more" }));
    ask(results, newest.current.signal);
  };
  return { ...results, more };
}
