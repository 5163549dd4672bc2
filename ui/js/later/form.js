/** A dialog that asks for a few values, says what is wrong with them, and one that asks whether something is meant. */

import { html, useState } from "../../vendor/htm-3.1.1/standalone.module.js";
import { Dialog } from "../actions.js";
import { problem } from "../states.js";

function Field({ name, label, type = "text", options, hint, ...rest }) {
  const described = hint ? `hint-${name}` : undefined; // beside the label, so that the field is called by its label alone
  const control = options
    ? html`<select name=${name}>${options.map((one) => html`<option value=${one} selected=${one === rest.value}>${one || "—"}</option>`)}</select>`
    : html`<input name=${name} type=${type} aria-describedby=${described} spellcheck="false" autocapitalize="off" autocomplete="off" ...${rest} />`;
  return html`<label>${label}${control}</label>${hint && html`<p class="facts hint" id=${described}>${hint}</p>`}`;
}

function useSending(send) {
  const [state, setState] = useState({});
  const start = async (values) => {
    setState({ isWorking: true });
    try {
      await send(values);
    } catch (error) {
      setState({ error: problem(error) });
    }
  };
  return [state, start];
}

function Buttons({ word, kind, isWorking, onClose, onClick }) {
  return html`<div class="buttons">
    <button type="button" onClick=${onClose}>Cancel</button>
    <button class=${kind} disabled=${isWorking} aria-busy=${isWorking} onClick=${onClick}>${isWorking ? "Working…" : word}</button>
  </div>`;
}

/**
 * Ask for values: `fields` are those of an input, with `label`, `options` and `hint`. Values left empty are not sent.
 * `user` is whose password is asked for, so that a browser keeps the right one.
 */
export function Ask({ title, word, fields, user = "", children, send, onClose }) {
  const [{ isWorking, error }, start] = useSending(send);
  const isSecret = fields.some(({ type }) => type === "password") && !fields.some((field) => field.autocomplete === "username");
  const submit = (event) => {
    event.preventDefault();
    const given = [...new FormData(event.target)].filter(([, value]) => value !== "");
    start(Object.fromEntries(given));
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    ${children}
    <form onSubmit=${submit}>
      ${isSecret && html`<input type="text" autocomplete="username" value=${user} hidden readonly />`}
      ${fields.map((field) => html`<${Field} key=${field.name} ...${field} />`)}
      ${error && html`<p class="problem" role="alert">${error}</p>`}
      <${Buttons} word=${word} kind="primary" isWorking=${isWorking} onClose=${onClose} />
    </form>
  <//>`;
}

/** Ask whether something is meant before it is done. */
export function Confirm({ title, word, kind = "danger", children, send, onClose }) {
  const [{ isWorking, error }, start] = useSending(send);
  return html`<${Dialog} title=${title} onClose=${onClose}>
    ${children}
    ${error && html`<p class="problem" role="alert">${error}</p>`}
    <${Buttons} word=${word} kind=${kind} isWorking=${isWorking} onClose=${onClose} onClick=${() => start()} />
  <//>`;
}
