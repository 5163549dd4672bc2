/** The path below which the service is reached, such as `/hub`; empty where it has a host of its own. */
export const BASE = new URL(import.meta.url).pathname.replace(/\/ui\/([0-9a-f]{16}\/)?js\/base\.js$/, "");
