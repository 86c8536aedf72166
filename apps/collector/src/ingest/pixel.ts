/** A transparent image of one by one, for pages that can do nothing but load an image. */
export const PIXEL_GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

/** The JSON in a pixel's `data` parameter: base64url, or plain base64 whose `+` a query string has turned into a blank. */
export function pixelBody(data: string | null): Uint8Array {
  return Buffer.from((data ?? "").replaceAll(" ", "+"), "base64");
}
