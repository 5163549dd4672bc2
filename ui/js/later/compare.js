/** What changed from one version of a skill to another: which files, and the lines of those that are texts. Reviews too. */

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
function Since({ others, from }) {
  return html`<label class="sort">Changes since
    <select onChange=${(event) => go({ from: event.target.value }, { replace: true })}>
      ${others.map((one) => html`<option key=${one.version} value=${one.version}
        selected=${one.version === from}>${one.version}${one.yanked ? " (yanked)" : ""}</option>`)}
    </select></label>`;
}

export function Compare({ id, others, version, from }) {
  const { data, error, again } = useLoaded((signal) => load(id, from, version, signal), [id, from, version]);
  const at = (path) => [from, version].map((one) => fileAt(id, path, one));
  const opened = (path, isGone) => ({ skill: id, version: isGone ? from : version, file: path });
  return html`<section class="compare" aria-label="Changes">
    <div class="head"><${Since} others=${others} from=${from} />
      <span class="facts" role="status">${data ? told(data) || "No file differs" : error ? "" : "Comparing…"}</span></div>
    ${error && html`<${Failure} error=${error} onRetry=${again} what="These versions cannot be compared" />`}
    ${data && html`<${Changes} key=${from} changes=${data} at=${at} opened=${opened} />`}
  </section>`;
}

/** Return how many files were changed in which way. */
export function told(changes) {
  const number = (kind) => changes.filter((one) => one.kind === kind).length;
  return Object.keys(WORDS).filter(number).map((kind) => `${count(number(kind), "file")} ${kind}`).join(", ");
}

/**
 * Show changed files. `at` returns the addresses of a file before and after; `opened` the page of a file, by its path and
 * whether it is gone. Without it, a file has no page, and the lines of those that are added are shown here.
 */
export function Changes({ changes, at, opened = null }) {
  const first = changes.filter(({ kind }) => kind === "changed").slice(0, OPEN_AT_FIRST);
  return html`<ul>${changes.slice(0, SHOWN_FILES).map((change) => html`<${Change} key=${change.path} ...${change} at=${at} opened=${opened}
      isOpenAtFirst=${first.includes(change)} />`)}</ul>
    ${changes.length > SHOWN_FILES && html`<p>${count(changes.length - SHOWN_FILES, "more file")}</p>`}`;
}

function Kind({ kind }) {
  return html`<span class=${`badge change-${kind}`}>${WORDS[kind]}</span>`;
}

function Change({ kind, path, from, to, at, opened, isOpenAtFirst }) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const open = opened?.(path, kind === "removed");
  const name = html`<code><${Text}>${path}<//></code>`;
  const sizes = [from, to].filter(Boolean).map((file) => size(file.size));
  const bytes = html`<span class="number">${[...new Set(sizes)].join(" → ")}</span>`;
  if (open ? kind !== "changed" : kind === "removed") {
    return html`<li class="change"><${Kind} kind=${kind} />
      ${open ? html`<a href=${link(open)} onClick=${(event) => follow(event, open)}>${name}</a>` : name}
      ${kind === "moved" && html`<span class="moved">from <code><${Text}>${from.path}<//></code></span>`} ${bytes}</li>`;
  }
  return html`<li class="change"><details open=${isOpen} onToggle=${(event) => setOpen(event.target.open)}>
    <summary><${Kind} kind=${kind} /> ${name} ${bytes}</summary>
    ${isOpen && html`<${Difference} places=${[from && at(from.path)[0], at(path)[1]]} open=${open} />`}
  </details></li>`;
}

async function differenceOf(places, signal) {
  const texts = await Promise.all(places.map((place) => (place ? textOf(place, MOST_BYTES, signal) : "")));
  return texts.includes(null) ? null : diff(...texts);
}

/** The changed lines of one file. */
function Difference({ places, open }) {
  const { data, error, again } = useLoaded((signal) => differenceOf(places, signal), places);
  if (error) return html`<${Failure} error=${error} onRetry=${again} />`;
  if (data === undefined) return html`<p class="facts" aria-busy="true">Comparing…</p>`;
  const whole = open && html`<a href=${link(open)} onClick=${(event) => follow(event, open)}>Open the file</a>`;
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
