/** Stands for what nobody, or not everybody, may see. */
export const REDACTED = "[redacted]";

/** Shorter texts are in every other answer by chance. */
const SHORTEST = 4;
const WITH_SCHEME = /^\S+ +(\S.*)$/;

/** Takes texts out of an answer in which the receiver repeats what it was sent. */
export type RedactEcho = (answer: string) => string;

/** `values`: of headers. Also found without their scheme (`Bearer`), and as JSON writes them. */
export function echoRedactor(values: readonly string[]): RedactEcho {
  const texts = values
    .flatMap((value) => [value, WITH_SCHEME.exec(value)?.[1] ?? value])
    .flatMap((text) => [text, JSON.stringify(text).slice(1, -1)])
    .filter((text) => text.length >= SHORTEST)
    // The longest first: one may be part of another.
    .sort((one, other) => other.length - one.length);
  const distinct = [...new Set(texts)];
  return (answer) => distinct.reduce((text, secret) => text.replaceAll(secret, REDACTED), answer);
}
