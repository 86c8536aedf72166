import type { ReactNode } from "react";
import { Link } from "wouter";
import { useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Time } from "../../ui/data/time.js";
import type { Definition } from "./definition-kind.js";

/** What every definition has; `children` are the facts of its kind. */
export function DefinitionFacts({
  definition: { key, destinationIds, createdAt },
  children,
}: {
  definition: Definition;
  children: ReactNode;
}) {
  const names = useNames();
  return (
    <dl className="facts">
      <dt>Trait</dt>
      <dd>
        <code>{key}</code>
      </dd>
      {children}
      <dt>Destinations</dt>
      <dd>
        {destinationIds.length === 0
          ? "None"
          : destinationIds.map((id) => (
              <Link key={id} className="list-link" href={addresses.destination(id)}>
                {names.destination(id)}
              </Link>
            ))}
      </dd>
      <dt>Created</dt>
      <dd>
        <Time at={createdAt} />
      </dd>
    </dl>
  );
}
