/** The list of what was found: it grows as it is scrolled, page by page, and pages that stand are not drawn again. */

import { Component, html, useEffect, useRef } from "../vendor/htm-3.1.1/standalone.module.js";
import { Card } from "./card.js";
import { Failure, Notice, Skeletons } from "./states.js";
import { count, Text } from "./text.js";

/** One page of cards; drawn once, since its cards follow their own changes. */
class Page extends Component {
  shouldComponentUpdate({ hits, before }) {
    return hits !== this.props.hits || before !== this.props.before;
  }

  render({ hits, before, heads }) {
    let source = before;
    return hits.map((hit) => {
      const isFirst = heads && hit.skill.source !== source;
      source = hit.skill.source;
      return html`<li key=${hit.skill.id}>
        ${isFirst && html`<h2 class="source"><${Text}>${source}<//> <span>${heads.get(source)}</span></h2>`}
        <${Card} hit=${hit} />
      </li>`;
    });
  }
}

/** Ask for the next page when the end of the list comes near. */
function End({ onNear }) {
  const mark = useRef(null);
  const near = useRef(onNear);
  near.current = onNear;
  useEffect(() => {
    const seen = new IntersectionObserver(([entry]) => entry.isIntersecting && near.current(), { rootMargin: "1200px" });
    seen.observe(mark.current);
    return () => seen.disconnect();
  }, []);
  return html`<div ref=${mark} class="end"></div>`;
}

function last(hits) {
  return hits?.[hits.length - 1]?.skill.source;
}

/** Say in one line what is listed: also for those who only hear the page. */
export function summary({ phase, isSearch, shown, total, isLast, mode, took, warnings = [] }) {
  if (phase === "error") return "";
  if (isSearch === undefined) return "Loading…";
  const number = isSearch ? `${count(shown, "skill")}${isLast ? "" : " so far"}` : count(total, "skill");
  const how = isSearch && [mode, `${took.toFixed(1)} ms`];
  return [number, ...(how || []), ...warnings].join(" · ");
}

export function List({ results, sources, sort, onRetry, onClear, isFiltered }) {
  const { phase, pages, shown, isSearch, error, isLast, more } = results;
  if (phase === "error") return html`<${Failure} error=${error} onRetry=${onRetry} what="The search failed" />`;
  if (phase === "loading" && pages.length === 0) return html`<${Skeletons} />`;
  if (shown === 0) return html`<${Nothing} isSearch=${isSearch} isFiltered=${isFiltered} onClear=${onClear} />`;
  const heads = !isSearch && !sort ? new Map((sources ?? []).map(({ name, skills }) => [name, skills])) : null;
  return html`<div class=${phase === "loading" ? "results old" : "results"}>
    <ol id="results" aria-label="Skills found">
      ${pages.map((hits, index) => html`<${Page} key=${index} hits=${hits} heads=${heads} before=${last(pages[index - 1])} />`)}
    </ol>
    ${!isLast && html`<${End} key=${shown} onNear=${more} />`}
    ${phase === "more" && html`<${Skeletons} count=${2} />`}
  </div>`;
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
  return html`<${Notice} title="There are no skills yet">
    Put a folder with a SKILL.md into the skills directory, or add a source:${" "}
    <code>skill-registry sources add NAME URL</code>
  <//>`;
}
