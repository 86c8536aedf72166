import { FILTER_FIELDS, parseFilter } from "@sluice/protocol";
import { type Ref, useEffect, useId, useState } from "react";
import { CodeText } from "../../ui/data/code-block.js";
import { Icon } from "../../ui/icon.js";

/** The filter is applied this long after the last key. */
const SETTLE_MS = 350;

/** The filter field. It shows the first syntax error. */
export function FilterField({
  value,
  onChange,
  ref,
}: {
  value: string;
  onChange: (filter: string) => void;
  ref: Ref<HTMLInputElement>;
}) {
  const id = useId();
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const parsed = parseFilter(text);
  const isGood = parsed.ok;
  useEffect(() => {
    if (!isGood || text.trim() === value) return;
    const timer = setTimeout(() => onChange(text.trim()), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text, value, isGood, onChange]);
  return (
    <div className="filter">
      <div className="filter-box">
        <Icon name="search" />
        <input
          ref={ref}
          id={id}
          type="search"
          className="filter-input"
          aria-label="Filter"
          aria-describedby={`${id}-help`}
          aria-invalid={isGood ? undefined : true}
          placeholder={'type:track event:"Signed Up" user:42 outcome:failed'}
          spellCheck={false}
          autoComplete="off"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && isGood) onChange(text.trim());
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
        <kbd>/</kbd>
      </div>
      <p id={`${id}-help`} className={isGood ? "visually-hidden" : "field-error"}>
        {parsed.ok ? (
          `All terms must match. Fields: ${FILTER_FIELDS.join(", ")}, and paths such as properties.plan. A minus before a term negates it.`
        ) : (
          <CodeText text={parsed.issue.message} />
        )}
      </p>
    </div>
  );
}
