/** A line for the command line, with a button that copies it. */

import { html, useRef, useState } from "../vendor/htm-3.1.1/standalone.module.js";

/** Return `copy(text, element)` and what became of it: the element is selected where there is no clipboard. */
function useCopy() {
  const [said, say] = useState("");
  const copy = async (text, element, onCopy) => {
    onCopy?.();
    try {
      await navigator.clipboard.writeText(text);
      say("Copied");
    } catch {
      getSelection().selectAllChildren(element); // over plain HTTP a page has no clipboard of its own
      say(document.execCommand("copy") ? "Copied" : "Selected");
    }
    setTimeout(() => say(""), 2000);
  };
  return [said, copy];
}

/** A button that copies a text which is not shown. `onCopy` is told. */
export function CopyButton({ name, text, word = "Copy", onCopy }) {
  const [said, copy] = useCopy();
  const hidden = useRef(null);
  return html`<div class="action"><button class="quiet" aria-label=${`${word}: ${name}`} onClick=${() => copy(text, hidden.current, onCopy)}>${said || word}</button>
    <span class="heard" ref=${hidden} aria-hidden="true">${text}</span><span class="heard" role="status">${said}</span></div>`;
}

/** Show a line below its `name`, or, where `isBare`, alone: its button names it then. `onCopy` is told. */
export function Line({ name, text, isBare = false, onCopy }) {
  const [said, copy] = useCopy();
  const code = useRef(null);
  return html`<div class="line">
    ${!isBare && html`<p>${name}</p>`}
    <div class="copyable"><code ref=${code} tabindex=${isBare ? undefined : "0"}>${text}</code><button class="quiet" aria-label=${`Copy: ${name}`} onClick=${() => copy(text, code.current, onCopy)}>${said || "Copy"}</button></div>
    <p class="heard" role="status">${said}</p>
  </div>`;
}
