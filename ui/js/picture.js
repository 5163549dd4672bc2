/** Images of packages, by the service's own route. A browser sends no credential with an image: then the page fetches it. */

import { html, useEffect, useRef } from "../vendor/htm-3.1.1/standalone.module.js";
import { blobOf, credentials } from "./api.js";

const IMAGE = /\.(?:png|jpe?g|gif|webp|avif)$/i;

/** Return whether a file may be an image, by its name; the service looks at its bytes. */
export const isImage = (path) => IMAGE.test(path);

async function fetched(image, address) {
  const place = URL.createObjectURL(await blobOf(address));
  image.addEventListener("load", () => URL.revokeObjectURL(place), { once: true });
  image.src = place;
}

/** Have an `<img>` show the image at an address of the service; where that fails, its description stands in its place. */
export function show(image, address) {
  const fail = () => image.replaceWith(Object.assign(document.createElement("em"), { textContent: image.alt || "an image that cannot be shown" }));
  image.addEventListener("error", fail, { once: true });
  image.loading = "lazy";
  if (Object.keys(credentials()).length > 0) fetched(image, address).catch(fail);
  else image.src = address;
}

/** Show an image file. */
export function Picture({ address, name }) {
  const box = useRef(null);
  useEffect(() => {
    const image = Object.assign(document.createElement("img"), { alt: name });
    box.current.replaceChildren(image);
    show(image, address);
  }, [address]);
  return html`<p class="picture" ref=${box}></p>`;
}
