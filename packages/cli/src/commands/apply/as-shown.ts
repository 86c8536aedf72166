import { isPlainObject } from "@sluice/protocol";

/** How the collector shows a secret value. If it is sent back, the collector keeps the value. */
export const MASKED = /^[•*]+$/;

/**
 * Declared settings in the form in which the collector shows them: with normalized URLs and, unless `setSecrets`, without
 * secrets that are already set. What still differs has to be sent.
 */
export function asShown(wanted: unknown, shown: unknown, setSecrets: boolean): unknown {
  if (typeof wanted === "string" && typeof shown === "string" && MASKED.test(shown))
    return setSecrets ? wanted : shown;
  if (Array.isArray(wanted) && Array.isArray(shown))
    return wanted.map((item: unknown, index) => {
      const now: unknown = shown[index];
      // The collector stores a header's value with its URL, so it has to be sent for a new URL.
      const isOtherUrl = isPlainObject(item) && isPlainObject(now) && normalUrl(item.url) !== now.url;
      return isOtherUrl ? item : asShown(item, now, setSecrets);
    });
  if (!isPlainObject(wanted) || !isPlainObject(shown)) return wanted;
  return Object.fromEntries(
    Object.entries(wanted).flatMap(([name, value]): [string, unknown][] => {
      if (!Object.hasOwn(shown, name))
        return shown[`${name}Set`] === true && !setSecrets ? [] : [[name, value]];
      if (name === "url" && normalUrl(value) === shown[name]) return [[name, shown[name]]];
      return [[name, asShown(value, shown[name], setSecrets)]];
    }),
  );
}

/** A URL as the collector stores it: `http://127.0.0.1:3000/` for `http://127.0.0.1:3000`, and without a fragment. */
function normalUrl(value: unknown): unknown {
  if (typeof value !== "string" || !URL.canParse(value)) return value;
  const url = new URL(value);
  url.hash = "";
  return url.href;
}
