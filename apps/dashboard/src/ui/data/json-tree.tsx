import { type KeyboardEvent, useState } from "react";
import { visibleText } from "../../words/messages.js";
import { Icon } from "../icon.js";

/** Entries of one object or array that are shown before "show more". */
const SHOWN_ENTRIES = 100;
const OPEN_DEPTH = 3;

/** A JSON value as a tree of collapsible nodes. Keys and values are rendered as text. */
export function JsonTree({ value, label }: { value: unknown; label: string }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a group, which also handles the arrow keys
    <div className="json" role="group" aria-label={label} onKeyDown={moveFocus}>
      <JsonNode value={value} depth={0} />
    </div>
  );
}

function JsonNode({ name, value, depth }: { name?: string; value: unknown; depth: number }) {
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH);
  const [shown, setShown] = useState(SHOWN_ENTRIES);
  if (typeof value !== "object" || value === null) {
    return (
      <div className="json-line">
        {name !== undefined && <JsonKey name={name} />}
        <JsonLeaf value={value} />
      </div>
    );
  }
  const isArray = Array.isArray(value);
  const entries = Object.entries(value);
  const [open, close] = isArray ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) {
    return (
      <div className="json-line">
        {name !== undefined && <JsonKey name={name} />}
        <span className="json-mark">
          {open}
          {close}
        </span>
      </div>
    );
  }
  return (
    <div>
      <div className="json-line">
        <button type="button" className="json-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Icon name="chevron" size={12} />
          {name !== undefined ? <JsonKey name={name} /> : <span className="visually-hidden">all</span>}
          <span className="json-mark">
            {open}
            {!isOpen && ` ${entries.length} ${close}`}
          </span>
        </button>
      </div>
      {isOpen && (
        <>
          <div className="json-children">
            {entries.slice(0, shown).map(([key, child]) => (
              <JsonNode key={key} {...(isArray ? {} : { name: key })} value={child} depth={depth + 1} />
            ))}
            {entries.length > shown && (
              <button type="button" className="json-more" onClick={() => setShown(shown + SHOWN_ENTRIES * 5)}>
                Show more ({entries.length} in total)
              </button>
            )}
          </div>
          <div className="json-line json-mark json-close">{close}</div>
        </>
      )}
    </div>
  );
}

function JsonKey({ name }: { name: string }) {
  return (
    <>
      <span className="json-key">{visibleText(name, 200)}</span>
      <span className="json-mark">: </span>
    </>
  );
}

function JsonLeaf({ value }: { value: unknown }) {
  const [isWhole, setWhole] = useState(false);
  if (typeof value !== "string") return <span className={`json-${typeof value}`}>{String(value)}</span>;
  const isLong = value.length > 400;
  return (
    <span className="json-string">
      "{visibleText(value, isLong && !isWhole ? 400 : Number.POSITIVE_INFINITY)}"
      {isLong && !isWhole && (
        <button type="button" className="json-more" onClick={() => setWhole(true)}>
          show all {value.length} characters
        </button>
      )}
    </span>
  );
}

/** Up and down move between nodes; left and right collapse and expand them. */
function moveFocus(event: KeyboardEvent<HTMLDivElement>): void {
  const nodes = [...event.currentTarget.querySelectorAll<HTMLButtonElement>(".json-toggle")];
  const at = nodes.indexOf(document.activeElement as HTMLButtonElement);
  const node = nodes[at];
  if (node === undefined) return;
  const isOpen = node.getAttribute("aria-expanded") === "true";
  if (event.key === "ArrowDown") nodes[at + 1]?.focus();
  else if (event.key === "ArrowUp") nodes[at - 1]?.focus();
  else if (event.key === "ArrowRight" && !isOpen) node.click();
  else if (event.key === "ArrowLeft" && isOpen) node.click();
  else return;
  event.preventDefault();
}
