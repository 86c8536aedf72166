import { visibleText } from "../../words/messages.js";

/** A text of the API, with what it puts between backticks as code. */
export function CodeText({ text, limit }: { text: string; limit?: number }) {
  return visibleText(text, limit)
    .split("`")
    .map((part, index, parts) =>
      index % 2 === 1 && index < parts.length - 1 ? (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never change places
        <code key={index}>{part}</code>
      ) : index % 2 === 1 ? (
        `\`${part}`
      ) : (
        part
      ),
    );
}
