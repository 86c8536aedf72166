import { visibleText } from "../../words/messages.js";
import { CopyButton } from "../controls/button.js";

/** Text in a fixed-width font, with a copy button. `whole`: what to copy, if `code` is only the start of it. */
export function CodeBlock({
  code,
  label,
  wrap = false,
  whole = code,
}: {
  code: string;
  label: string;
  wrap?: boolean;
  whole?: string;
}) {
  return (
    <figure className="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable by keyboard */}
      <section className={wrap ? "code-text code-wrap" : "code-text"} tabIndex={0} aria-label={label}>
        <pre>
          <code>{code}</code>
        </pre>
      </section>
      <div className="code-copy">
        <CopyButton text={whole} label={`Copy: ${label}`} />
      </div>
    </figure>
  );
}

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
