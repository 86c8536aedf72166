import type { ReactNode } from "react";
import { Link } from "wouter";
import { useNames } from "../../api/queries.js";
import { Time } from "../../ui/data/facts.js";
import { type Column, Table } from "../../ui/data/table.js";
import type { ShownQuery } from "../../ui/feedback.js";
import { EmptyState } from "../../ui/feedback.js";
import { ListCard, Page } from "../../ui/layout/page.js";
import type { Definition, DefinitionKind } from "./definition-kind.js";
import { SyncBadge } from "./definition-parts.js";

/** The page that lists all definitions of one kind. */
export function DefinitionList<T extends Definition>({
  kind,
  lead,
  query,
  add,
  example,
  column,
  children,
}: {
  kind: DefinitionKind<T>;
  lead: string;
  query: ShownQuery<readonly T[]>;
  /** The button that creates one. */
  add: (look: "primary" | "plain") => ReactNode;
  /** Shown while there is none. */
  example: string;
  /** What only this kind has. */
  column: Column<T>;
  children?: ReactNode;
}) {
  const plural = kind.up.label;
  return (
    <Page title={plural} lead={lead} actions={add(query.data?.length === 0 ? "plain" : "primary")}>
      {children}
      <ListCard
        query={query}
        empty={
          <EmptyState icon={kind.icon} title={`No ${plural.toLowerCase()} yet`} action={add("primary")}>
            <p>{example}</p>
          </EmptyState>
        }
      >
        {(items) => <DefinitionTable kind={kind} items={items} column={column} />}
      </ListCard>
    </Page>
  );
}

function DefinitionTable<T extends Definition>({
  kind,
  items,
  column,
}: {
  kind: DefinitionKind<T>;
  items: readonly T[];
  column: Column<T>;
}) {
  const names = useNames();
  return (
    <Table
      label={`${kind.up.label}, oldest first`}
      oneLine="names"
      items={items}
      keyOf={(one) => one.id}
      columns={[
        {
          head: "Name",
          lead: true,
          cell: (one) => (
            <Link className="strong-link" href={kind.address(one.id)} title={one.name}>
              {one.name}
            </Link>
          ),
        },
        { head: "Trait", cell: (one) => <code title={one.key}>{one.key}</code> },
        { head: "State", fit: true, cell: (one) => <SyncBadge status={one.status} /> },
        column,
        {
          head: "Destinations",
          cell: (one) => one.destinationIds.map(names.destination).join(", ") || "None",
        },
        { head: "Created", align: "end", cell: (one) => <Time at={one.createdAt} /> },
      ]}
    />
  );
}
