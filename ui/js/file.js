/** One file of a skill with numbered lines, and the tree of all of them. */

import { html, useEffect, useRef } from "../vendor/htm-3.1.1/standalone.module.js";
import { follow, link } from "./address.js";
import { pathOf, textOf } from "./api.js";
import { useLoaded } from "./loaded.js";
import { Download } from "./package.js";
import { Failure, Notice } from "./states.js";
import { size, Text } from "./text.js";

const SHOWN_BYTES = 512 << 10;
const NUMBERED_LINES = 5000; // longer files are shown without numbers: each would cost the browser an element

function Lines({ text, line }) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  if (lines.length > NUMBERED_LINES) return html`<pre tabindex="0"><code><${Text}>${text}<//></code></pre>`;
  return html`<pre tabindex="0" class="numbered"><code>${lines.map((one, index) => {
    const number = String(index + 1);
    return html`<span key=${number} id=${`L${number}`} class=${number === line ? "line-of chosen" : "line-of"}><a href=${`#L${number}`} aria-label=${`Line ${number}`} data-number=${number}></a><span><${Text}>${one}<//>${"\n"}</span></span>`;
  })}</code></pre>`;
}

export function File({ id, path, line, known }) {
  const box = useRef(null);
  const url = `/api/v1/skills/${pathOf(id)}/files/${pathOf(path)}`;
  const isTooLong = known?.size > SHOWN_BYTES;
  const load = async (signal) => (isTooLong ? null : textOf(url, SHOWN_BYTES, signal));
  const { data, error, again } = useLoaded(load, [url, isTooLong]);
  useEffect(() => {
    const place = (line && data && document.getElementById(`L${line}`)) || box.current;
    place.scrollIntoView({ block: place === box.current ? "start" : "center" }); // the tree may be far longer than the file
  }, [path, line, data]);
  const changes = { file: "" };
  return html`<section class="file" aria-label="File" ref=${box}>
    <p class="back"><a href=${link(changes)} onClick=${(event) => follow(event, changes)}>SKILL.md</a>
      ${" / "}<code><${Text}>${path}<//></code> <${Download} url=${url} name=${path.split("/").pop()}>Download<//></p>
    ${error && html`<${Failure} error=${error} onRetry=${again} />`}
    ${data === null && html`<${Notice} title="This file is not shown: it is no text, or too long">
      <${Download} url=${url} name=${path.split("/").pop()}>Download it<//><//>`}
    ${typeof data === "string" && html`<${Lines} text=${data} line=${line} />`}
  </section>`;
}

/** Return the files of a folder and the folders in it: `{files, folders: Map}`. */
function treeOf(files) {
  const root = { files: [], folders: new Map() };
  for (const file of files) {
    let place = root;
    const parts = file.path.split("/");
    for (const part of parts.slice(0, -1)) {
      if (!place.folders.has(part)) place.folders.set(part, { files: [], folders: new Map() });
      place = place.folders.get(part);
    }
    place.files.push({ ...file, name: parts.at(-1) });
  }
  return root;
}

function Folder({ tree, chosen }) {
  return html`<ul class="files">
    ${[...tree.folders].map(([name, below]) => html`<li key=${`${name}/`} class="folder"><details open>
      <summary><${Text}>${name}<//>/</summary><${Folder} tree=${below} chosen=${chosen} /></details></li>`)}
    ${tree.files.map(({ path, name, size: bytes }) => html`<li key=${path}>
      <a href=${link({ file: path })} aria-current=${chosen === path ? "true" : undefined} title=${path}
        onClick=${(event) => follow(event, { file: path })}><${Text}>${name}<//></a>
      <span class="number">${size(bytes)}</span>
    </li>`)}
  </ul>`;
}

export function Files({ files, file }) {
  if (files.length === 0) return null;
  return html`<section>
    <h2>Files <span class="number">${files.length}</span></h2>
    <${Folder} tree=${treeOf(files)} chosen=${file} />
  </section>`;
}
