import { useEffect } from "../vendor/htm-3.1.1/standalone.module.js";

/** Call what is shown by this name, in tabs and in the history. */
export function useTitle(name) {
  useEffect(() => {
    if (!name) return undefined;
    document.title = `${name} · Skill Registry`;
    return () => (document.title = "Skill Registry");
  }, [name]);
}
