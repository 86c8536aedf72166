/** A transparent 1×1 image, for pages that can only load images. */
export const PIXEL_GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

/** The JSON in a pixel's `data` parameter: base64url, or plain base64 whose `+` became a space in the query string. */
export function pixelBody(data: string | null): Uint8Array {
  return Buffer.from((data ?? "").replaceAll(" ", "+"), "base64");
}
