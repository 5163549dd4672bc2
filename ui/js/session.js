/** Who is signed in: kept in this tab only, and gone when it is closed. */

import { store } from "./store.js";

const PLACE = "skill-registry.session";

function kept() {
  try {
    const found = JSON.parse(sessionStorage.getItem(PLACE));
    return found?.expires_at && Date.parse(found.expires_at) <= Date.now() ? null : found;
  } catch {
    return null; // storage may be forbidden, or hold what somebody else has written
  }
}

/** `{role, name, scope, headers, expires_at}`, or null. */
export const session = store(kept());

/** Take over a session, or, given null, drop the one there is. */
export function keep(next) {
  try {
    if (next) sessionStorage.setItem(PLACE, JSON.stringify(next));
    else sessionStorage.removeItem(PLACE);
  } catch {
    // Without storage the session lasts until the page is loaded again.
  }
  session.set(next);
}
