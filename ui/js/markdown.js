/**
 * A SKILL.md on the page. The service has rendered and sanitised it; here it is taken apart without being run and built
 * again from a list of elements, so that no single mistake on either side lets anything in.
 */

import { html, useEffect, useRef } from "../vendor/htm-3.1.1/standalone.module.js";
import { ANCHOR } from "./address.js";
import { plain } from "./paths.js";
import { show } from "./picture.js";
import { isReturn, restorePlace } from "./place.js";
import { HIDDEN_CLASS, parts, toldOf } from "./text.js";

const ELEMENTS = new Set(
  ("h1 h2 h3 h4 h5 h6 p br hr blockquote pre code details summary ul ol li dl dt dd table thead tbody tr th td " +
    "a abbr b del em i kbd s samp strong sub sup").split(" "),
);
const LINK = /^(?:https?|mailto):/i;

function mark({ code }) {
  const made = document.createElement("mark");
  made.className = HIDDEN_CLASS;
  made.title = toldOf(code);
  made.textContent = code;
  return made;
}

function textNodes(text) {
  return parts(text).map((part) => (part.code ? mark(part) : document.createTextNode(part)));
}

/** Return the anchor of a heading, as GitHub makes it but for the prefix, or what a link says of it; of no text, none. */
export function anchorOf(text) {
  if (!text) return "";
  const slug = plain(text).trim().toLowerCase().replace(/[^\p{L}\p{N}\p{M} _-]/gu, "").replaceAll(" ", "-");
  return ANCHOR + slug.slice(0, 100);
}

/** Give each heading its anchor, numbered where several have the same text, and a link to itself. */
function addAnchors(box) {
  const used = new Map([...box.querySelectorAll("[id]")].map(({ id }) => [id, 1]));
  for (const heading of box.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const anchor = anchorOf(heading.textContent);
    const before = used.get(anchor) ?? 0;
    used.set(anchor, before + 1);
    heading.id = before ? `${anchor}-${before}` : anchor;
    const link = Object.assign(document.createElement("a"), { href: `#${heading.id}`, className: "anchor" });
    link.setAttribute("aria-label", `Link to ${heading.textContent.slice(0, 100)}`);
    heading.append(link);
  }
}

const COPIED_MS = 2000;

/** Give each block of code a button that copies it. */
function addCopyButtons(box) {
  if (!navigator.clipboard) return; // a page over plain HTTP has none
  for (const pre of box.querySelectorAll("pre")) {
    const text = pre.textContent;
    const button = Object.assign(document.createElement("button"), { className: "quiet copy", type: "button", textContent: "Copy" });
    button.setAttribute("aria-label", "Copy this code");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text).catch(() => {});
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), COPIED_MS);
    });
    const frame = Object.assign(document.createElement("div"), { className: "code" });
    pre.replaceWith(frame);
    frame.append(pre, button);
  }
}

function lead(link, target, onFile) {
  if (/^#./.test(target)) {
    link.href = `#${anchorOf(target.slice(1))}`;
    const [, isBack, number] = /^#fn(ref)?-(\d+)$/.exec(target) ?? [];
    if (number) link.setAttribute("aria-label", `${isBack ? "Back from footnote" : "Footnote"} ${link.textContent}`);
  } else if (LINK.test(target)) {
    link.href = target;
    link.rel = "noopener noreferrer nofollow";
    link.target = "_blank";
  } else if (onFile(target)) {
    link.href = onFile(target).href;
    link.addEventListener("click", onFile(target).open);
  }
}

/** Return an image of the skill itself; of any other, its description. */
function imageOf(given, isOurs) {
  const address = given.getAttribute("src") ?? "";
  if (!isOurs(address)) return textNodes(given.alt);
  const made = Object.assign(document.createElement("img"), { alt: given.alt });
  show(made, address);
  return [made];
}

const ADDRESS = /\bhttps?:\/\/[^\s<>"'`\u200b-\u202e]{3,2000}/g;

/** Return an address without the marks that end the sentence or the bracket it stands in. */
function bare(address) {
  const end = /[.,;:!?*_)\]}]+$/.exec(address)?.[0] ?? "";
  const isBracket = end.startsWith(")") && address.includes("(");
  return address.slice(0, address.length - end.length + (isBracket ? 1 : 0));
}

/** Return nodes of a text in which addresses are links. */
function linked(text, onFile) {
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(ADDRESS)) {
    if (/["'=]/.test(text[match.index - 1] ?? "")) continue; // in a tag that is shown, or in code
    const address = bare(match[0]);
    const link = document.createElement("a");
    link.append(...textNodes(address));
    lead(link, address, onFile);
    nodes.push(...textNodes(text.slice(from, match.index)), link);
    from = match.index + address.length;
  }
  return [...nodes, ...textNodes(text.slice(from))];
}

/** Return copies of the nodes below one, without the elements that are not on the list. */
function copies(node, onFile, isOurs) {
  return [...node.childNodes].flatMap((child) => {
    if (child.nodeType === Node.TEXT_NODE) return node.closest("a, code, pre") ? textNodes(child.data) : linked(child.data, onFile);
    if (child.nodeType !== Node.ELEMENT_NODE) return [];
    const name = child.localName;
    if (name === "img") return imageOf(child, isOurs);
    const inner = copies(child, onFile, isOurs);
    if (!ELEMENTS.has(name)) return inner;
    const made = document.createElement(name);
    if (child.id) made.id = anchorOf(child.id); // of a footnote, or of a place that links lead to
    const language = name === "code" && /^language-(\S+)$/.exec(child.className)?.[1];
    if (language) made.dataset.language = language;
    if (name === "pre" || name === "table") made.tabIndex = 0; // wide ones are scrolled, with keys too
    if (child.align) made.className = `to-${child.align}`;
    if (name === "ol" && child.start !== 1) made.start = child.start;
    made.append(...inner);
    if (name === "a") lead(made, child.getAttribute("href") ?? "", onFile);
    if (name === "li" && /^[☐☑]/.test(made.textContent)) made.className = "task";
    return [made];
  });
}

/**
 * Show rendered Markdown. `onFile` gives `{href, open}` for a link to a file of the skill, `isOurs` says whether an address
 * is that of an image of the skill.
 */
export function Markdown({ content, onFile, isOurs }) {
  const box = useRef(null);
  useEffect(() => {
    const parsed = new DOMParser().parseFromString(content, "text/html"); // inert: nothing is run or loaded
    box.current.replaceChildren(...copies(parsed.body, onFile, isOurs));
    for (const block of box.current.children) if (block.localName !== "pre") block.dir = "auto"; // a text may have parts in several languages
    addAnchors(box.current);
    addCopyButtons(box.current);
    if (box.current.querySelector("[data-language]")) {
      const shown = box.current;
      import("./later/colours.js").then(({ colour }) => colour(shown, textNodes), () => {}); // without it, code has no colours
    }
    if (isReturn()) restorePlace();
    else if (location.hash.startsWith(`#${ANCHOR}`)) document.getElementById(plain(location.hash.slice(1)))?.scrollIntoView();
  }, [content, onFile, isOurs]);
  return html`<div class="markdown" ref=${box} dir="auto"></div>`;
}
