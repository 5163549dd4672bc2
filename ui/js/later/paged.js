/** A list of the service in pages of a table, with what to say while it is empty. */

import { html, useState } from "../../vendor/htm-3.1.1/standalone.module.js";
import { paged } from "../api.js";
import { useLoaded } from "../loaded.js";
import { Failure, Notice, Skeletons } from "../states.js";

const PAGE = 25;

/** Use a page of a list: `{rows, total, offset, error, again, turn}`. `filters` are parameters of its query. */
export function usePages(path, filters = {}) {
  const [offset, turn] = useState(0);
  const { data, error, again } = useLoaded((signal) => paged(path, PAGE, offset, signal, filters), [path, offset, JSON.stringify(filters)]);
  return { ...data, offset, error, again, turn };
}

/** Show a page as a table. `columns` are `[heading, function of a row]`; `empty` is what to say without rows. */
export function Table({ name, pages, columns, empty }) {
  const { rows, total, offset, error, again, turn } = pages;
  if (error) return html`<${Failure} error=${error} onRetry=${again} />`;
  if (!rows) return html`<${Skeletons} count=${2} />`;
  if (rows.length === 0 && offset === 0) return html`<${Notice} title=${empty} />`;
  return html`<div class="table" role="region" aria-label=${name} tabindex="0"><table>
      <thead><tr>${columns.map(([heading]) => html`<th scope="col">${heading || html`<span class="heard">Actions</span>`}</th>`)}</tr></thead>
      <tbody>${rows.map((row, index) => html`<tr key=${row.id ?? row.job_id ?? row.name ?? offset + index}>${columns.map(([, cell]) => html`<td>${cell(row)}</td>`)}</tr>`)}</tbody>
    </table></div>
    ${total > PAGE && html`<div class="buttons pages">
      <button class="quiet" disabled=${offset === 0} onClick=${() => turn(Math.max(0, offset - PAGE))}>Newer</button>
      <span class="facts">${offset + 1}–${offset + rows.length} of ${total.toLocaleString("en")}</span>
      <button class="quiet" disabled=${offset + rows.length >= total} onClick=${() => turn(offset + PAGE)}>Older</button>
    </div>`}`;
}

/** Show when something was, to the minute. */
export function When({ at }) {
  return at ? html`<time datetime=${at}>${at.slice(0, 16).replace("T", " ")} UTC</time>` : html`<span class="facts">never</span>`;
}
