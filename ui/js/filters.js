/** Filters beside the list. They combine, and each choice is a link: it can be shared and gone back to. */

import { html, useState } from "../vendor/htm-3.1.1/standalone.module.js";
import { CLEARED, follow, go, link } from "./address.js";
import { comparable, RISKS } from "./facets.js";
import { Text } from "./text.js";

const SHOWN = 8;

function Choice({ changes, isChosen, children, number, title }) {
  return html`<li>
    <a href=${link(changes)} class="choice" aria-current=${isChosen ? "true" : undefined} title=${title}
      onClick=${(event) => follow(event, changes)}>
      <span class="value">${children}</span>
      ${number !== undefined && html`<span class="number">${number.toLocaleString("en")}</span>`}
    </a>
  </li>`;
}

function Group({ name, children }) {
  return html`<section class="group"><h3>${name}</h3><ul>${children}</ul></section>`;
}

function Sources({ address, sources, facets }) {
  if ((sources ?? []).length < 2 && !address.source) return null;
  const found = facets?.source; // in a search; a list counts all skills of a source
  const isOpen = facets && !facets.isCounted;
  const all = isOpen ? undefined : found && !address.source ? facets.total : sources?.reduce((sum, source) => sum + source.skills, 0);
  return html`<${Group} name="Source">
    <${Choice} changes=${{ source: "" }} isChosen=${!address.source} number=${found && address.source ? undefined : all}>All sources<//>
    ${(sources ?? []).map(
      ({ name, skills, error }) => html`<${Choice} key=${name} changes=${{ source: name }} title=${error ?? undefined}
        isChosen=${address.source === name} number=${isOpen ? undefined : found && !address.source ? (found.get(name) ?? 0) : found ? undefined : skills}>
        <${Text}>${name}<//>${error && html` <span class="fault" title=${error}>not read</span>`}
      <//>`,
    )}
  <//>`;
}

function Status({ address, facets }) {
  const { installed, total } = facets ?? {};
  if (!address.status && (installed === total || installed === 0)) return null; // all of them are, or none
  const numbers = total === undefined || address.status ? {} : { installed, available: total - installed };
  const names = { installed: "Installed", available: "Available", ...(address.status === "disabled" && { disabled: "Disabled" }) };
  return html`<${Group} name="Status">
    <${Choice} changes=${{ status: "" }} isChosen=${!address.status}>Any<//>
    ${Object.entries(names).map(
      ([one, name]) => html`<${Choice} key=${one} changes=${{ status: one }} isChosen=${address.status === one} number=${numbers[one]}>${name}<//>`,
    )}
  <//>`;
}

const RISK_NAMES = { none: "No findings", low: "At most low", waived: "Also waived", medium: "At most medium" };

function Risks({ address, facets }) {
  let sum = 0;
  const upTo = RISKS.map((risk) => [risk, (sum += facets?.risks?.[risk] ?? 0)]);
  const isCounted = facets?.isCounted && !address.risk;
  const hasWaived = address.risk === "waived" || !facets?.isCounted || facets.risks.waived > 0;
  return html`<${Group} name="Risk">
    <${Choice} changes=${{ risk: "" }} isChosen=${!address.risk}>Any<//>
    ${upTo.filter(([risk]) => risk !== "high" && (risk !== "waived" || hasWaived)).map(
      ([risk, number]) => html`<${Choice} changes=${{ risk }} isChosen=${address.risk === risk}
        number=${isCounted ? number : undefined}>${RISK_NAMES[risk]}<//>`,
    )}
  <//>`;
}

/** Choices by values that skills share. `changes` gives the address with the values that are chosen then. */
function ValueGroup({ name, chosen, changes, counted }) {
  const [isOpen, setOpen] = useState(false);
  const known = new Map(counted ?? []);
  const others = [...known].filter(([value]) => !chosen.some((one) => comparable(one) === comparable(value)));
  if (chosen.length + others.length === 0) return null;
  const shown = isOpen ? others : others.slice(0, SHOWN);
  return html`<${Group} name=${name}>
    ${chosen.map((value) => html`<${Choice} key=${value} isChosen number=${known.get(value)} title=${value}
      changes=${changes(chosen.filter((one) => one !== value))}><${Text}>${value}<//><//>`)}
    ${shown.map(([value, number]) => html`<${Choice} key=${value} number=${number} title=${value}
      changes=${changes([...chosen, value])}><${Text}>${value}<//><//>`)}
    ${others.length > SHOWN && html`<li><button class="text" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
      ${isOpen ? "Fewer" : `${others.length - SHOWN} more`}</button></li>`}
  <//>`;
}

/** A group of which a skill has several values, and all that are chosen. */
function LabelGroup({ name, field, address, counted }) {
  return html`<${ValueGroup} name=${name} chosen=${address[field]} changes=${(values) => ({ [field]: values })} counted=${counted} />`;
}

/** A group of which a skill has one value. */
function AttributeGroup({ name, field, address, counted }) {
  const chosen = address[field] ? [address[field]] : [];
  return html`<${ValueGroup} name=${name} chosen=${chosen} changes=${(values) => ({ [field]: values.at(-1) ?? "" })} counted=${counted} />`;
}

export function chosenFilters({ source, scope, status, risk, author, license, os, agent, tag, capability }) {
  return [source, scope, status, risk, author, license, os, agent].filter(Boolean).length + tag.length + capability.length;
}

const isWide = () => matchMedia("(min-width: 52rem)").matches;

export function Filters({ address, sources, results }) {
  const [isOpen] = useState(isWide);
  const { facets } = results;
  const number = chosenFilters(address);
  return html`<details class="filters" open=${isOpen}>
    <summary><h2>Filters</h2>${number > 0 && html`<span class="badge">${number}</span>`}</summary>
    <p class="clear">${number > 0 && html`<button class="text" onClick=${() => go({ ...CLEARED, view: "skills" })}>Clear all</button>`}</p>
    <${Sources} address=${address} sources=${sources} facets=${facets} />
    ${address.scope && html`<${Group} name="Scope"><${Choice} changes=${{ scope: "" }} isChosen><${Text}>${address.scope}<//><//><//>`}
    <${Status} address=${address} facets=${facets} />
    <${Risks} address=${address} facets=${facets} />
    <${LabelGroup} name="Tags" field="tag" address=${address} counted=${facets?.tag} />
    <${LabelGroup} name="Capabilities" field="capability" address=${address} counted=${facets?.capability} />
    <${AttributeGroup} name="Author" field="author" address=${address} counted=${facets?.author} />
    <${AttributeGroup} name="License" field="license" address=${address} counted=${facets?.license} />
    <${AttributeGroup} name="System" field="os" address=${address} counted=${facets?.os} />
    <${AttributeGroup} name="Agent" field="agent" address=${address} counted=${facets?.agent} />
  </details>`;
}

export function Sort({ address }) {
  if (address.q.trim()) return null; // a search is ranked: another order would sort what is loaded only
  const choices = [["", "Source"], ["name", "Name"], ["updated", "Last updated"], ["risk", "Risk, gravest first"], ["uses", "Most used"], ["unused", "Least used"]];
  return html`<label class="sort">Sort by
    <select value=${address.sort} onChange=${(event) => go({ sort: event.target.value, view: "skills" })}>
      ${choices.map(([value, name]) => html`<option value=${value} selected=${value === address.sort}>${name}</option>`)}
    </select>
  </label>`;
}
