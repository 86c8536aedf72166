import type { Condition } from "@sluice/protocol";
import { childrenOf, conditionInWords } from "./condition-words.js";

/** A condition tree as nested lists. */
export function ConditionTree({
  condition,
  nameOf,
}: {
  condition: Condition;
  nameOf: (id: string) => string;
}) {
  const children = childrenOf(condition);
  return (
    <div className="tree">
      <p>{conditionInWords(condition, nameOf)}</p>
      {children.length > 0 && (
        <ul>
          {children.map((child, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: conditions have no id, only a position
            <li key={index}>
              <ConditionTree condition={child} nameOf={nameOf} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
