/** What changed from one version of a skill to another: which files, and the lines of those that are texts. */

import { html, useState } from "../../vendor/htm-3.1.1/standalone.module.js";
import { follow, go, link } from "../address.js";
import { get, textOf } from "../api.js";
import { changedFiles, diff } from "./diff.js";
import { useLoaded } from "../loaded.js";
import { fileAt, filesAt } from "../paths.js";
import { Failure } from "../states.js";
import { count, size, Text } from "../text.js";

const MOST_BYTES = 256 << 10;
const SHOWN_FILES = 200;
const SHOWN_LINES = 800;
const LONGEST_LINE = 2000;
const OPEN_AT_FIRST = 2;
const WORDS = { added: "Added", removed: "Removed", changed: "Changed", moved: "Moved" };

async function load(id, from, to, signal) {
  const [before, after] = await Promise.all([from, to].map((version) => get(filesAt(id, version), signal)));
  return changedFiles(before, after);
}

/** Choose the version that a version is compared with. */
function Since({ versions, version, from }) {
  return html`<label class="sort">Changes since
    <select onChange=${(event) => go({ from: event.target.value }, { replace: true })}>
      ${versions.filter((one) => one.version !== version).map((one) => html`<option key=${one.version} value=${one.version}
        selected=${one.version === from}>${one.version}${one.yanked ? " (yanked)" : ""}</option>`)}
    </select></label>`;
}

export function Compare({ id, versions, version, from }) {
  const { data, error, again } = useLoaded((signal) => load(id, from, version, signal), [id, from, version]);
  const number = (kind) => data.filter((one) => one.kind === kind).length;
  const told = data && Object.keys(WORDS).filter(number).map((kind) => `${count(number(kind), "file")} ${kind}`).join(", ");
  const first = data?.filter(({ kind }) => kind === "changed").slice(0, OPEN_AT_FIRST) ?? [];
  return html`<section class="compare" aria-label="Changes">
    <div class="head"><${Since} versions=${versions} version=${version} from=${from} />
      <span class="facts" role="status">${data ? told || "No file differs" : error ? "" : "Comparing…"}</span></div>
    ${error && html`<${Failure} error=${error} onRetry=${again} what="These versions cannot be compared" />`}
    <ul>${(data ?? []).slice(0, SHOWN_FILES).map((change) => html`<${Change} key=${from + change.path} ...${change} id=${id} versions=${[from, version]}
      isOpenAtFirst=${first.includes(change)} />`)}</ul>
    ${data?.length > SHOWN_FILES && html`<p>${count(data.length - SHOWN_FILES, "more file")}</p>`}
  </section>`;
}

function Kind({ kind }) {
  return html`<span class=${`badge change-${kind}`}>${WORDS[kind]}</span>`;
}

function Change({ kind, path, from, to, id, versions, isOpenAtFirst }) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const version = versions[kind === "removed" ? 0 : 1];
  const open = { skill: id, version, file: path };
  const name = html`<code><${Text}>${path}<//></code>`;
  const sizes = [from, to].filter(Boolean).map((file) => size(file.size));
  const bytes = html`<span class="number">${[...new Set(sizes)].join(" → ")}</span>`;
  if (kind !== "changed") {
    return html`<li class="change"><${Kind} kind=${kind} />
      <a href=${link(open)} onClick=${(event) => follow(event, open)}>${name}</a>
      ${kind === "moved" && html`<span class="moved">from <code><${Text}>${from.path}<//></code></span>`} ${bytes}</li>`;
  }
  return html`<li class="change"><details open=${isOpen} onToggle=${(event) => setOpen(event.target.open)}>
    <summary><${Kind} kind=${kind} /> ${name} ${bytes}</summary>
    ${isOpen && html`<${Difference} id=${id} path=${path} versions=${versions} open=${open} />`}
  </details></li>`;
}

async function differenceOf(id, path, versions, signal) {
  const texts = await Promise.all(versions.map((version) => textOf(fileAt(id, path, version), MOST_BYTES, signal)));
  return texts.includes(null) ? null : diff(...texts);
}

/** The changed lines of one file. */
function Difference({ id, path, versions, open }) {
  const { data, error, again } = useLoaded((signal) => differenceOf(id, path, versions, signal), [id, path, ...versions]);
  if (error) return html`<${Failure} error=${error} onRetry=${again} />`;
  if (data === undefined) return html`<p class="facts" aria-busy="true">Comparing…</p>`;
  const whole = html`<a href=${link(open)} onClick=${(event) => follow(event, open)}>Open the file</a>`;
  if (data === null) return html`<p class="facts">Its lines are not compared: it is no text, too long, or has too little in common. ${whole}</p>`;
  let left = SHOWN_LINES;
  const hunks = data.hunks.map((hunk) => {
    const lines = hunk.lines.slice(0, Math.max(0, left));
    left -= hunk.lines.length;
    return { ...hunk, lines };
  });
  return html`<p class="facts"><span class="plus">+${data.added}</span> <span class="minus">−${data.removed}</span> ${whole}</p>
    <pre class="diff" tabindex="0"><code>${hunks.filter(({ lines }) => lines.length > 0).map((hunk) => html`
      <span class="hunk">@@ −${hunk.before} +${hunk.after} @@${"\n"}</span>${hunk.lines.map(([kind, text]) => html`<${Line} kind=${kind} text=${text} />`)}`)}</code></pre>
    ${left < 0 && html`<p class="facts">${count(-left, "more line")} not shown</p>`}`;
}

const CLASSES = { "+": "plus", "-": "minus", " ": "same" };

function Line({ kind, text }) {
  const shown = text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text;
  return html`<span class=${CLASSES[kind]}>${kind}<${Text}>${shown}<//>${"\n"}</span>`;
}
