/** The list of what was found: it grows as it is scrolled, page by page, and pages that stand are not drawn again. */

import { Component, html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/htm-3.1.1/standalone.module.js";
import { Card } from "./card.js";
import { restorePlace, savedPlace } from "./place.js";
import { hasClose, hasWeak, isWeak } from "./search.js";
import { Failure, NoSkills, Notice, Skeletons } from "./states.js";
import { count, Text } from "./text.js";

/** One page of cards. The browser lays it out near the screen only. It is drawn once: cards follow their own changes. */
class Page extends Component {
  shouldComponentUpdate({ hits, before, isMixed, isGraded }) {
    const { props } = this;
    return hits !== props.hits || before !== props.before || isMixed !== props.isMixed || isGraded !== props.isGraded;
  }

  render({ hits, before, heads, isMixed, isGraded }) {
    let source = before;
    if (hits.length === 0) return null;
    return html`<div class="page" role="presentation" style=${`--cards: ${hits.length}`}>${hits.map((hit) => {
      const isFirst = heads && hit.skill.source !== source;
      source = hit.skill.source;
      return html`<div key=${hit.skill.id} role="listitem">
        ${isFirst && html`<h2 class="source"><${Text}>${source}<//> <span>${heads.get(source)?.toLocaleString("en")}</span></h2>`}
        <${Card} hit=${hit} isMixed=${isMixed} isGraded=${isGraded} />
      </div>`;
    })}</div>`;
  }
}

/** Ask for the next page when the end of the list comes near. */
function End({ onNear }) {
  const mark = useRef(null);
  const near = useRef(onNear);
  near.current = onNear;
  useEffect(() => {
    // A busy browser reports several changes at once, the newest last.
    const seen = new IntersectionObserver((changes) => changes.at(-1).isIntersecting && near.current(), { rootMargin: "1200px" });
    seen.observe(mark.current);
    return () => seen.disconnect();
  }, []);
  return html`<div ref=${mark} class="end"></div>`;
}

function last(hits) {
  return hits?.[hits.length - 1]?.skill.source;
}

const HOW = { hybrid: "by words and meaning", semantic: "by meaning", keyword: "by words" };

/** Return how many skills match closely, with a plus where more come as one scrolls. */
function matches(mode, { total, total_is_floor: isFloor, close, facets }) {
  const [number, isMore] = hasWeak({ mode }) ? [close, !facets?.isCounted] : [total, isFloor];
  return isMore ? `${number.toLocaleString("en")}+ skills` : count(number, "skill");
}

/** Say in one line what is listed: also for those who only hear the page. */
export function summary({ phase, isMore, isSearch, mode, took, warnings = [], corrections = [], hits, pages, ...counts }) {
  if (phase === "error" && !isMore) return "";
  if (!hits) return "Loading…";
  const isAllWeak = isSearch && pages[0].length > 0 && pages[0].every(isWeak);
  const isVague = isSearch && hasWeak({ mode }) && pages[0].length > 0 && !isAllWeak && !hasClose(pages);
  const number = isAllWeak ? "Only weak matches" : isSearch ? matches(mode, counts) : count(counts.total, "skill");
  const told = warnings.filter((warning) => !warning.startsWith("indexing: ")); // the line below the header says that
  const spelled = corrections.map(({ word, used }) => `${used.join(" ")} instead of ${word}`).join(", ");
  return [...(spelled ? [`Showing results for ${spelled}`] : []), number, ...(isVague ? ["none is a close match"] : []), ...(isSearch ? [HOW[mode] ?? mode, `${took.toFixed(1)} ms`] : []), ...told].join(" · ");
}

export function List({ results, ...props }) {
  const { phase, pages, shown, isSearch, error, isMore, of } = results;
  if (phase === "error" && !isMore) return html`<${Failure} error=${error} onRetry=${props.onRetry} what="The search failed" />`;
  if (phase === "loading" && pages.length === 0) return html`<${Skeletons} />`;
  const isEmpty = (results.warnings ?? []).some((warning) => warning.startsWith("the catalog has no skills"));
  if (shown === 0) return html`<${Nothing} isSearch=${isSearch && !isEmpty} isFiltered=${props.isFiltered} onClear=${props.onClear} />`;
  return html`<${Found} key=${of} results=${results} ...${props} />`;
}

/** The pages that were found. Weak matches, and what is ranked below the first of them, wait for a button. */
function Found({ results, sources, sort }) {
  const [withWeak, setWithWeak] = useState(() => savedPlace().isWeakShown);
  const { phase, pages, shown, isSearch, isLast, error, more } = results;
  useLayoutEffect(restorePlace, []);
  const heads = !isSearch && !sort ? new Map((sources ?? []).map(({ name, skills }) => [name, skills])) : null;
  const isHidden = isSearch && !withWeak && pages.some((hits) => hits.some(isWeak));
  const close = isHidden ? pages.map(kept) : pages;
  const isMixed = (sources ?? []).length > 1;
  return html`<div class=${phase === "loading" ? "results old" : "results"}>
    ${isHidden && close.every((hits) => hits.length === 0) && html`<p class="none-close">No skill is a close match.</p>`}
    <div id="results" role="list" aria-label="Skills found">
      ${close.map((hits, index) => html`<${Page} key=${index} hits=${hits} heads=${heads}
        isMixed=${isMixed} isGraded=${hasClose(pages)} before=${last(pages[index - 1])} />`)}
    </div>
    ${isHidden
      ? html`<p class="weaker"><button onClick=${() => setWithWeak(true)}>Show weaker matches</button></p>`
      : phase === "ready" && !isLast && html`<${End} key=${shown} onNear=${more} />`}
    ${phase === "more" && html`<${Skeletons} count=${2} />`}
    ${phase === "error" && html`<${Failure} error=${error} onRetry=${more} what="The next skills could not be loaded" />`}
  </div>`;
}

const strong = new WeakMap();

/** Return the close matches of a page: the same list each time, so that a page that stands is not drawn again. */
function kept(hits) {
  if (!strong.has(hits)) strong.set(hits, hits.filter((hit) => !isWeak(hit)));
  return strong.get(hits);
}

function Nothing({ isSearch, isFiltered, onClear }) {
  if (isFiltered) {
    return html`<${Notice} title="No skill passes these filters" action="Clear the filters" onAction=${onClear}>
      Another source, status or tag may have what you look for.
    <//>`;
  }
  if (isSearch) {
    return html`<${Notice} title="No skill fits">
      Describe the task in other words, or clear the search box to see every skill there is.
    <//>`;
  }
  return html`<${NoSkills} />`;
}
