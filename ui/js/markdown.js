/**
 * A SKILL.md on the page. The service has rendered and sanitised it; here it is taken apart without being run and built
 * again from a list of elements, so that no single mistake on either side lets anything in.
 */

import { html, useEffect, useRef } from "../vendor/htm-3.1.1/standalone.module.js";
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

function lead(link, target, onFile) {
  if (LINK.test(target)) {
    link.href = target;
    link.rel = "noopener noreferrer nofollow";
    link.target = "_blank";
  } else if (onFile(target)) {
    link.href = onFile(target).href;
    link.addEventListener("click", onFile(target).open);
  }
}

/** Return copies of the nodes below one, without the elements that are not on the list. */
function copies(node, onFile) {
  return [...node.childNodes].flatMap((child) => {
    if (child.nodeType === Node.TEXT_NODE) return textNodes(child.data);
    if (child.nodeType !== Node.ELEMENT_NODE) return [];
    const name = child.localName;
    const inner = copies(child, onFile);
    if (!ELEMENTS.has(name)) return inner;
    const made = document.createElement(name);
    if (name === "a") lead(made, child.getAttribute("href") ?? "", onFile);
    if (name === "pre" || name === "table") made.tabIndex = 0; // wide ones are scrolled, with keys too
    if (name === "ol" && child.start !== 1) made.start = child.start;
    made.append(...inner);
    return [made];
  });
}

/** Show rendered Markdown. `onFile` gives `{href, open}` for a path that is a file of the skill. */
export function Markdown({ content, onFile }) {
  const box = useRef(null);
  useEffect(() => {
    const parsed = new DOMParser().parseFromString(content, "text/html"); // inert: nothing is run or loaded
    box.current.replaceChildren(...copies(parsed.body, onFile));
  }, [content, onFile]);
  return html`<div class="markdown" ref=${box} dir="auto"></div>`;
}
