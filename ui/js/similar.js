/** Skills that do something similar: those whose vectors are nearest to the one of this skill's text. */

import { html } from "../vendor/htm-3.1.1/standalone.module.js";
import { follow, link } from "./address.js";
import { post } from "./api.js";
import { ownId } from "./card.js";
import { useLoaded } from "./loaded.js";
import { Text } from "./text.js";

const SHOWN = 5;
const LONGEST_QUERY = 2000;

async function load({ id, name, description }, signal) {
  const query = [...`${name}: ${description}`].slice(0, LONGEST_QUERY).join(""); // the text a vector is made from
  const { skills } = await post("/api/v1/search", { query, limit: SHOWN + 1 }, { signal });
  return skills.map((hit) => hit.skill).filter((other) => other.id !== id).slice(0, SHOWN);
}

export function Similar({ skill }) {
  const { data } = useLoaded((signal) => load(skill, signal), [skill.id]);
  if (!data?.length) return null;
  return html`<section class="similar" aria-label="Similar skills">
    <h2>Similar skills</h2>
    <ul>${data.map((other) => {
      const open = { skill: other.id };
      const id = ownId(other);
      return html`<li key=${other.id}><a href=${link(open)} onClick=${(event) => follow(event, open)}><${Text}>${other.name}<//></a>
        ${id && html` <code class="number"><${Text}>${id}<//></code>`}
        <p class="facts"><${Text}>${other.description}<//></p></li>`;
    })}</ul>
  </section>`;
}
