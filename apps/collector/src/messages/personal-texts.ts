import type { UncheckedMessage } from "@sluice/protocol";

/** Shorter texts say nothing about anybody. */
const SHORTEST = 4;

/** The texts of messages, by which their echoes in receivers' answers are known. */
export function personalTexts(messages: readonly UncheckedMessage[]): string[] {
  const texts = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value === "string") {
      if (value.length >= SHORTEST) texts.add(value);
    } else if (typeof value === "object" && value !== null) Object.values(value).forEach(collect);
  };
  messages.forEach(collect);
  return [...texts];
}
