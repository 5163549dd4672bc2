/** What the page knows of the service: its status, and what the visitor may do there. */

import { get } from "./api.js";
import { session } from "./session.js";
import { store } from "./store.js";

export const ROLES = ["user", "manager", "admin"];

/** The data of `/api/v1/status`; null until it is known. */
export const service = store(null);

export async function refreshStatus(signal) {
  service.set(await get("/api/v1/status", signal));
}

export function isRegistry(status) {
  return status?.profile === "registry";
}

/** Return whether a visitor may do what needs `role`. Without tokens everybody may, unless nothing can be changed. */
export function may(role, status, visitor) {
  if (!status || (role !== "user" && !status.writable)) return false;
  return !isRegistry(status) || ROLES.indexOf(visitor?.role) >= ROLES.indexOf(role);
}

export function useMay(role) {
  const status = service.use();
  const visitor = session.use();
  return may(role, status, visitor);
}

/** Return whether a visitor may change a published skill: administrators all, managers those of their scope. */
export function useMayPublishTo(id) {
  const visitor = session.use();
  const mayChange = useMay("manager");
  return mayChange && (visitor?.role === "admin" || visitor?.scope === id.split("/")[0]);
}

/** Return whether reading needs a credential that is not there, so that asking would be in vain. */
export function needsSignIn(status, visitor) {
  return isRegistry(status) && !visitor && !status.anonymous_read;
}
