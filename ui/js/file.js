/** One file of a skill: rendered, with numbered lines, or as an image; and the tree of all of them. */

import { Component, html, useCallback, useEffect, useMemo, useRef, useState } from "../vendor/htm-3.1.1/standalone.module.js";
import { ANCHOR, follow, link } from "./address.js";
import { textOf } from "./api.js";
import { useLoaded } from "./loaded.js";
import { anchorOf, Markdown } from "./markdown.js";
import { Download } from "./package.js";
import { fileAt, isMarkdown, languageOf, resolved } from "./paths.js";
import { isImage, Picture } from "./picture.js";
import { isReturn } from "./place.js";
import { Failure, Notice } from "./states.js";
import { Coloured, size, Text } from "./text.js";

const SHOWN_BYTES = 512 << 10;
const NUMBERED_LINES = 5000; // longer files are shown without numbers: each would cost the browser an element
const BLOCK = 40; // lines that are drawn together: fewer milliseconds than anybody notices

/** Use the lines of a file in colours, null until there are any. */
function useColours(text, path) {
  const [found, setFound] = useState({});
  useEffect(() => {
    const language = languageOf(path);
    if (!language) return undefined;
    let isHere = true;
    import("./later/colours.js")
      .then(({ colouredLines }) => colouredLines(text, language))
      .then((lines) => isHere && setFound({ text, lines }), () => {}); // without it, a file has no colours
    return () => (isHere = false);
  }, [text, path]);
  return found.text === text ? found.lines : null;
}

/** Return how far from the first place something is done: one step further each time the browser has time for it. */
function useWidening(of, isStarted, steps) {
  const [at, setAt] = useState({ of: null, reach: 0 });
  const reach = at.of === of ? at.reach : 0;
  useEffect(() => {
    if (!isStarted || reach > steps) return undefined;
    const timer = setTimeout(() => setAt({ of, reach: reach + 1 }));
    return () => clearTimeout(timer);
  }, [of, isStarted, reach, steps]);
  return reach;
}

/** Numbered lines that follow each other, or the room for them; drawn again only where something of theirs changes. */
class Block extends Component {
  shouldComponentUpdate({ lines, colours, chosen, isDrawn }) {
    const before = this.props;
    return lines !== before.lines || colours !== before.colours || chosen !== before.chosen || isDrawn !== before.isDrawn;
  }

  render({ lines, colours, chosen, isDrawn, from }) {
    return html`<span class="block" style=${`contain-intrinsic-size: auto 0 auto ${lines.length}lh`}>${isDrawn && lines.map((one, index) => {
      const number = String(from + index + 1);
      return html`<span key=${number} id=${`L${number}`} class=${number === chosen ? "line-of chosen" : "line-of"}><a href=${`#L${number}`} aria-label=${`Line ${number}`} data-number=${number}></a><span>${colours ? html`<${Coloured} pieces=${colours[index]} />` : html`<${Text}>${one}<//>`}${"\n"}</span></span>`;
    })}</span>`;
  }
}

/** Return lines in blocks. */
function blocksOf(lines) {
  return Array.from({ length: Math.ceil(lines.length / BLOCK) }, (_, index) => lines.slice(index * BLOCK, (index + 1) * BLOCK));
}

/** Show a text with numbered lines: those round the chosen line at once, the others while nobody waits for them. */
function Lines({ text, path, line }) {
  const { count, blocks } = useMemo(() => {
    const lines = text.split("\n");
    if (lines.at(-1) === "") lines.pop();
    return { count: lines.length, blocks: blocksOf(lines) };
  }, [text]);
  const coloured = useColours(text, path);
  const colours = useMemo(() => coloured && blocksOf(coloured), [coloured]);
  const first = Math.min(Math.floor(((line || 1) - 1) / BLOCK), blocks.length - 1);
  const isNumbered = count <= NUMBERED_LINES;
  const drawn = useWidening(blocks, isNumbered, blocks.length);
  const inColour = useWidening(colours, Boolean(colours) && drawn > blocks.length, blocks.length);
  if (!isNumbered) return html`<pre tabindex="0"><code><${Text}>${text}<//></code></pre>`;
  return html`<pre tabindex="0" class="numbered"><code>${blocks.map((lines, index) => html`<${Block} key=${index}
    lines=${lines} colours=${Math.abs(index - first) < inColour ? colours[index] : null} from=${index * BLOCK}
    chosen=${line} isDrawn=${Math.abs(index - first) <= drawn} />`)}</code></pre>`;
}

/** Show a Markdown file of a skill, already rendered. Its links and images lead to other files of the same version. */
export function Rendered({ id, version, path, content, files }) {
  const onFile = useCallback((target) => {
    const file = resolved(target, path);
    if (!files.some((one) => one.path === file)) return null;
    const anchor = anchorOf(target.split("#")[1]);
    return { href: link({ skill: id, version, file, anchor }), open: (event) => follow(event, { file, anchor }) };
  }, [id, version, path, files]);
  const isOurs = useCallback((address) => files.some((one) => isImage(one.path) && address === `${fileAt(id, one.path, version)}?format=image`), [id, version, files]);
  return html`<${Markdown} content=${content} onFile=${onFile} isOurs=${isOurs} />`;
}

const VIEWS = { rendered: "Rendered", source: "Source" };

/** Say how a file is shown: an image, rendered, or its source; null where it is only offered for download. */
function viewOf(path, size, wanted, line) {
  if (isImage(path)) return "image";
  if (size > SHOWN_BYTES) return null;
  return isMarkdown(path) && (wanted ?? (line ? "source" : "rendered")) === "rendered" ? "rendered" : "source";
}

export function File({ id, version, path, line, files }) {
  const box = useRef(null);
  const [wanted, setWanted] = useState(null);
  const url = fileAt(id, path, version);
  const view = viewOf(path, files.find((one) => one.path === path)?.size, wanted, line);
  const load = async (signal) => {
    if (view === "rendered") return { html: await textOf(`${url}?format=html`, Infinity, signal, "text/html") };
    const text = view === "source" ? await textOf(url, SHOWN_BYTES, signal) : null;
    return { text: text && text.replaceAll(/\r+\n?/g, "\n") }; // lines as the findings count them
  };
  const { data, error, again } = useLoaded(load, [url, view]);
  const { html: rendered, text } = data ?? {}; // told apart: for a moment there still is what was shown before
  useEffect(() => setWanted(null), [path, line]);
  useEffect(() => {
    if (isReturn() || location.hash.startsWith(`#${ANCHOR}`)) return;
    const place = (line && data && document.getElementById(`L${line}`)) || box.current;
    place.scrollIntoView({ block: place === box.current ? "start" : "center" }); // the tree may be far longer than the file
  }, [path, line, data]);
  const changes = { file: "" };
  const name = path.split("/").pop();
  return html`<section class="file" aria-label="File" ref=${box}>
    <div class="back"><a href=${link(changes)} onClick=${(event) => follow(event, changes)}>SKILL.md</a>
      <span>${" / "}<code><${Text}>${path}<//></code></span> <${Download} url=${url} name=${name}>Download<//>
      ${view in VIEWS && isMarkdown(path) && html`<span class="ways" role="group" aria-label="Show">
        ${Object.entries(VIEWS).map(([one, word]) => html`<button key=${one} aria-pressed=${one === view} onClick=${() => setWanted(one)}>${word}</button>`)}</span>`}</div>
    ${error && html`<${Failure} error=${error} onRetry=${again} />`}
    ${view === "image" && html`<${Picture} address=${`${url}?format=image`} name=${path} />`}
    ${view !== "image" && text === null && html`<${Notice} title="This file is not shown: it is no text, or too long">
      <${Download} url=${url} name=${name}>Download it<//><//>`}
    ${rendered && html`<${Rendered} id=${id} version=${version} path=${path} content=${rendered} files=${files} />`}
    ${text === "" && html`<${Notice} title="This file is empty" />`}
    ${text && html`<${Lines} text=${text} path=${path} line=${line} />`}
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

export function Files({ files, file, children }) {
  if (files.length === 0) return null;
  return html`<section>
    <h2>Files <span class="number">${files.length}</span></h2>
    ${children}
    <${Folder} tree=${treeOf(files)} chosen=${file} />
  </section>`;
}
