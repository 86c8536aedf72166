import type { Condition } from "@sluice/protocol";
import { conditionInWords } from "./condition-words.js";

/** A condition tree in words, as nested lists. */
export function ConditionTree({
  condition,
  nameOf,
}: {
  condition: Condition;
  nameOf: (id: string) => string;
}) {
  const children =
    condition.kind === "and" || condition.kind === "or"
      ? condition.conditions
      : condition.kind === "not"
        ? [condition.condition]
        : [];
  return (
    <div className="tree">
      <p>{conditionInWords(condition, nameOf)}</p>
      {children.length > 0 && (
        <ul>
          {children.map((child, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: conditions have no other name than their place
            <li key={index}>
              <ConditionTree condition={child} nameOf={nameOf} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
