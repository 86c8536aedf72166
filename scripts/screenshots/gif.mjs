import gifenc from "gifenc";
import { PNG } from "pngjs";

const { GIFEncoder, quantize, applyPalette } = gifenc;
const MOST_COLORS = 255;
/** The index after the palette's colors: the pixel of the frame before stays. */
const UNCHANGED = MOST_COLORS;

/**
 * An animated GIF that repeats. Frames share one palette, and pixels that did not change are transparent, so that it stays small.
 * @param {readonly { png: Buffer, delayMs: number }[]} frames all of the same size
 */
export function encodeGif(frames) {
  const images = frames.map(({ png }) => PNG.sync.read(png));
  const palette = commonPalette(images);
  while (palette.length <= UNCHANGED) palette.push([0, 0, 0]);
  const colors = palette.slice(0, MOST_COLORS);
  const gif = GIFEncoder();
  for (const [number, { data, width, height }] of images.entries()) {
    const index = applyPalette(data, colors);
    const before = images[number - 1]?.data;
    if (before !== undefined) keepUnchanged(index, data, before);
    gif.writeFrame(index, width, height, {
      ...(number === 0 ? { palette, repeat: 0 } : {}),
      delay: frames[number].delayMs,
      dispose: 1,
      ...(number === 0 ? {} : { transparent: true, transparentIndex: UNCHANGED }),
    });
  }
  gif.finish();
  return gif.bytes();
}

/** The colors of all frames, from every fourth pixel. */
function commonPalette(images) {
  const sampled = images.map(({ data }) =>
    new Uint32Array(data.buffer, data.byteOffset, data.length / 4).filter((_, at) => at % 4 === 0),
  );
  const all = new Uint32Array(sampled.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const pixels of sampled) {
    all.set(pixels, at);
    at += pixels.length;
  }
  return quantize(new Uint8Array(all.buffer), MOST_COLORS);
}

function keepUnchanged(index, data, before) {
  for (let pixel = 0; pixel < index.length; pixel++) {
    const at = pixel * 4;
    if (data[at] === before[at] && data[at + 1] === before[at + 1] && data[at + 2] === before[at + 2])
      index[pixel] = UNCHANGED;
  }
}
