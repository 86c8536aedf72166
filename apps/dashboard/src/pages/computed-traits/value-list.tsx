import type { UserValueView } from "@sluice/control-api";
import type { ReactNode } from "react";
import { visibleValue } from "../../words/visible-text.js";
import { idOf, UserLink } from "../definitions/definition-parts.js";

/** Users with their values. */
export function ValueList({
  values,
  action,
  panel,
}: {
  values: readonly UserValueView[];
  action?: (userId: string) => ReactNode;
  /** Shown below a user's value. */
  panel?: (userId: string) => ReactNode;
}) {
  return (
    <ul className="value-list">
      {values.map((one) => (
        <li key={`${one.userId === undefined} ${idOf(one)}`}>
          <UserLink user={one} className="mono grow" />
          <span className="number">{visibleValue(one.value, 120)}</span>
          {action?.(idOf(one))}
          {panel?.(idOf(one))}
        </li>
      ))}
    </ul>
  );
}
