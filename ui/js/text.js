/** Texts of skills are strangers' texts: shown as text, with what would be invisible in them made visible. */

import { html } from "../vendor/htm-3.1.1/standalone.module.js";

const HIDDEN = new RegExp(
  "[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5" +
    "\\u180b-\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb" +
    "\\u{e0000}-\\u{e007f}]",
  "u",
);
const EMOJI_BEFORE = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]$/u;

/** Return a text in parts: strings, and `{code, text}` for each run of characters nobody could see. */
export function parts(text) {
  if (!HIDDEN.test(text)) return [text];
  const found = [];
  let plain = "";
  for (const character of text) {
    const joins = character === "\u200d" && EMOJI_BEFORE.test(plain); // as in the picture of a family
    if (joins || !HIDDEN.test(character)) {
      plain += character;
      continue;
    }
    if (plain) found.push(plain);
    plain = "";
    found.push({ text: character, code: `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}` });
  }
  return plain ? [...found, plain] : found;
}

export const HIDDEN_CLASS = "hidden-character";

/** Return what to tell of a hidden character. */
export const toldOf = (code) => `A character that cannot be seen: ${code}`;

function shown(text) {
  return parts(text).map((part) =>
    part.code ? html`<mark class=${HIDDEN_CLASS} title=${toldOf(part.code)}>${part.code}</mark>` : part,
  );
}

/** Show a passage of a skill with its matched words marked. Ranges count characters, as the service does. */
export function Passage({ text, ranges }) {
  const characters = [...text];
  const pieces = [];
  let from = 0;
  for (const [start, end] of ranges) {
    pieces.push(shown(characters.slice(from, start).join("")));
    pieces.push(html`<mark class="match">${shown(characters.slice(start, end).join(""))}</mark>`);
    from = end;
  }
  pieces.push(shown(characters.slice(from).join("")));
  return html`<bdi>${pieces}</bdi>`;
}

/** Show a text of a skill. The direction of writing is its own, and cannot reach what stands beside it. */
export function Text({ children }) {
  return html`<bdi>${shown(String(children ?? ""))}</bdi>`;
}

/** Show coloured pieces of a line, `[class, text]`, as `Text` shows it. */
export function Coloured({ pieces }) {
  return html`<bdi>${pieces.map(([name, text]) => (name ? html`<span class=${name}>${shown(text)}</span>` : shown(text)))}</bdi>`;
}

export function count(number, one, several = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : several}`;
}

export function size(bytes) {
  if (bytes < 1024) return count(bytes, "byte");
  return bytes < 1 << 20 ? `${(bytes / 1024).toFixed(1)} kB` : `${(bytes / (1 << 20)).toFixed(1)} MB`;
}

export function day(timestamp) {
  return timestamp ? timestamp.slice(0, 10) : "";
}
