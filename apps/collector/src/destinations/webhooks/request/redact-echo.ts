/** Replaces values that must not be shown. */
export const REDACTED = "[redacted]";

/** Minimum length to redact. Shorter texts occur in many responses by chance. */
const SHORTEST = 4;
const WITH_SCHEME = /^\S+ +(\S.*)$/;

/** Redacts credentials from a response in which the receiver echoes the request. */
export type RedactEcho = (answer: string) => string;

/** `values`: header values to redact. Also matches them without their scheme (such as `Bearer`) and JSON-escaped. */
export function echoRedactor(values: readonly string[]): RedactEcho {
  const texts = values
    .flatMap((value) => [value, WITH_SCHEME.exec(value)?.[1] ?? value])
    .flatMap((text) => [text, JSON.stringify(text).slice(1, -1)])
    .filter((text) => text.length >= SHORTEST)
    // Longest first, because one text may be part of another.
    .sort((one, other) => other.length - one.length);
  const distinct = [...new Set(texts)];
  return (answer) => distinct.reduce((text, secret) => text.replaceAll(secret, REDACTED), answer);
}
