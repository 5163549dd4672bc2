/** The start page: what this is, what one could ask it, and what there is. */

import { html } from "../vendor/htm-3.1.1/standalone.module.js";
import { follow, link } from "./address.js";
import { get } from "./api.js";
import { useLoaded } from "./loaded.js";
import { Failure, NoSkills, Skeletons } from "./states.js";
import { count, day, Text } from "./text.js";

export function Hero() {
  return html`<section class="hero" aria-label="What this is">
    <h1>Find the skill your agent needs</h1>
    <p>A registry of skills for coding agents: describe a task in your own words, read what fits, install it with one line.</p>
  </section>`;
}

function Examples({ queries, total }) {
  const all = { view: "skills" };
  return html`<p class="examples">${queries.length > 0 && html`<span>Try</span>`}
    ${queries.map((q) => html`<a key=${q} href=${link({ q })} onClick=${(event) => follow(event, { q })}><${Text}>${q}<//></a> `)}
    <a class="all" href=${link(all)} onClick=${(event) => follow(event, all)}>Browse ${total > 1 ? "all " : ""}${count(total, "skill")}</a></p>`;
}

function Row({ card, at }) {
  const open = { skill: card.id };
  return html`<li><a class="open" href=${link(open)} onClick=${(event) => follow(event, open)}><${Text}>${card.name}<//></a>
    <time class="number" datetime=${at}>${day(at)}</time>
    <p><${Text}>${card.description}<//></p></li>`;
}

function Rows({ name, cards, field, more }) {
  if (cards.length === 0) return null;
  return html`<section aria-label=${name}>
    <h2>${name} <a href=${link(more)} onClick=${(event) => follow(event, more)}>all</a></h2>
    <ul class="rows">${cards.map((card) => html`<${Row} key=${card.id} card=${card} at=${card[field]} />`)}</ul>
  </section>`;
}

function Topics({ tags }) {
  if (tags.length === 0) return null;
  return html`<section class="topics" aria-label="Topics">
    <h2>Largest topics</h2>
    <ul class="labels">${tags.map(([tag, number]) => {
      const changes = { tag: [tag] };
      return html`<li key=${tag}><a href=${link(changes)} onClick=${(event) => follow(event, changes)}>
        <${Text}>${tag}<//> <span class="number">${number.toLocaleString("en")}</span></a></li>`;
    })}</ul>
  </section>`;
}

export function Start({ turn, onRetry }) {
  const { data, error } = useLoaded((signal) => get("/api/v1/overview", signal), [turn]);
  if (error) return html`<${Failure} error=${error} onRetry=${onRetry} />`;
  if (!data) return html`<${Skeletons} count=${4} />`;
  if (data.total === 0) return html`<${NoSkills} />`;
  return html`<div class="start">
    <${Examples} queries=${data.queries} total=${data.total} />
    <${Topics} tags=${data.tags} />
    <div class="two">
      <${Rows} name="New" cards=${data.created} field="created_at" more=${{ view: "skills" }} />
      <${Rows} name="Updated" cards=${data.updated} field="updated_at" more=${{ sort: "updated" }} />
    </div>
  </div>`;
}
