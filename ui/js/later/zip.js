/** A folder as a zip, its files stored as they are: the service packs them anew in any case. */

const TABLE = Uint32Array.from({ length: 256 }, (_, value) => {
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

function crc32(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = (sum >>> 8) ^ TABLE[(sum ^ byte) & 255];
  return ~sum >>> 0;
}

/** Return numbers as bytes, lowest first; each is `[value, width]`. */
function packed(...numbers) {
  return Uint8Array.from(numbers.flatMap(([value, width]) =>
    Array.from({ length: width }, (_, place) => (value >>> (8 * place)) & 255)));
}

const UTF8 = 0x0800;
const MIDNIGHT_1980 = [[0, 2], [33, 2]];

/** Return files, `[{path, bytes}]`, as the parts of a zip (APPNOTE 6.3, stored entries only). */
export function zip(files) {
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const { path, bytes } of files) {
    const name = new TextEncoder().encode(path);
    const facts = [[20, 2], [UTF8, 2], [0, 2], ...MIDNIGHT_1980, [crc32(bytes), 4], [bytes.length, 4], [bytes.length, 4],
      [name.length, 2], [0, 2]];
    const head = packed([0x04034b50, 4], ...facts);
    parts.push(head, name, bytes);
    directory.push(packed([0x02014b50, 4], [20, 2], ...facts, [0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]), name);
    offset += head.length + name.length + bytes.length;
  }
  const length = directory.reduce((sum, part) => sum + part.length, 0);
  const end = packed([0x06054b50, 4], [0, 2], [0, 2], [files.length, 2], [files.length, 2], [length, 4], [offset, 4], [0, 2]);
  return new Blob([...parts, ...directory, end], { type: "application/zip" });
}
