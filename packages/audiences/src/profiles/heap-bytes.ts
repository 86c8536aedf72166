/** The heap bytes of an object or array without its contents, and of one value in it. */
const CONTAINER_BYTES = 64;
const VALUE_BYTES = 16;

/** Estimates the heap bytes of JSON: its text and its parsed value. Many small objects take twenty times their text. */
export function heapBytesOf(json: string): number {
  let containers = 0;
  let values = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === OBJECT || code === ARRAY) containers += 1;
    else if (code === COMMA) values += 1;
  }
  return json.length * 2 + containers * CONTAINER_BYTES + values * VALUE_BYTES;
}

const OBJECT = 0x7b;
const ARRAY = 0x5b;
const COMMA = 0x2c;
