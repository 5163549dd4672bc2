/** Texts of skills are strangers' texts: shown as text, with what would be invisible in them made visible. */

import { html } from "../vendor/htm-3.1.1/standalone.module.js";

const HIDDEN = new RegExp(
  "[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5" +
    "\\u180b-\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb" +
    "\\u{e0000}-\\u{e007f}]",
  "u",
);
// The invisible characters that belong to a script, with the one before them: of Persian and Hindi words, of emoji that
// have several parts, and of the flags of England, Scotland and Wales. No pattern looks back: browsers differ there.
const LETTERS = "\\u0620-\\u06dc\\u06de-\\u06ff\\u0710-\\u07bf\\u0840-\\u085f\\u08a0-\\u08e1\\u08e3-\\u0dff\\u0f40-\\u109f" +
  "\\u1780-\\u17b3\\u17b6-\\u17d3\\u1820-\\u18aa\\ufb50-\\ufdff\\ufe70-\\ufefc";
const JOINED = new RegExp(
  `[${LETTERS}][\\u200c\\u200d](?=[${LETTERS}])|` +
    "[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f]\\u200d(?=\\p{Extended_Pictographic})|" +
    "\\u{1f3f4}[\\u{e0061}-\\u{e007a}]{1,6}\\u{e007f}",
  "gu",
);

/** Return a text in parts: strings, and `{code, text}` for each character nobody could see. */
export function parts(text) {
  if (!HIDDEN.test(text)) return [text];
  const found = [];
  let plain = "";
  let start = 0;
  const tell = (piece) => {
    for (const character of piece) {
      if (!HIDDEN.test(character)) {
        plain += character;
        continue;
      }
      if (plain) found.push(plain);
      plain = "";
      found.push({ text: character, code: `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}` });
    }
  };
  for (const joined of text.matchAll(JOINED)) {
    tell(text.slice(start, joined.index));
    plain += joined[0];
    start = joined.index + joined[0].length;
  }
  tell(text.slice(start));
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
