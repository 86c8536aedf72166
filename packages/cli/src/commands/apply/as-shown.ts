import { isPlainObject } from "@sluice/protocol";

/** How the collector shows a value that is secret; sent back, it keeps what is there. */
export const MASKED = /^[•*]+$/;

/**
 * What is declared, in the words in which the collector shows the same: a URL in its normal form, and, unless `setSecrets`,
 * nothing of secrets that are set already. What is left to differ is what has to be sent.
 */
export function asShown(wanted: unknown, shown: unknown, setSecrets: boolean): unknown {
  if (typeof wanted === "string" && typeof shown === "string" && MASKED.test(shown))
    return setSecrets ? wanted : shown;
  if (Array.isArray(wanted) && Array.isArray(shown))
    return wanted.map((item: unknown, index) => {
      const now: unknown = shown[index];
      // The collector keeps a header's value with its URL: at another URL it has to be sent.
      const isOther = isPlainObject(item) && isPlainObject(now) && normalUrl(item.url) !== now.url;
      return isOther ? item : asShown(item, now, setSecrets);
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

/** As the collector keeps a URL: `http://127.0.0.1:3000` is `http://127.0.0.1:3000/`, and a fragment is never sent. */
function normalUrl(value: unknown): unknown {
  if (typeof value !== "string" || !URL.canParse(value)) return value;
  const url = new URL(value);
  url.hash = "";
  return url.href;
}
