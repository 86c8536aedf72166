import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useApi } from "../../api/queries.js";
import { DeleteCard, Page, ResourcePage } from "../../ui/layout/page.js";
import type { Definition, DefinitionKind } from "./definition-kind.js";
import { SyncBadge, SyncProgress } from "./definition-parts.js";

/** Loads one definition and keeps it current: its sync moves on, and others may change it. */
export function LoadedDefinition<T extends Definition>({
  kind,
  id,
  children,
}: {
  kind: DefinitionKind<T>;
  id: string;
  children: (definition: T) => ReactNode;
}) {
  const client = kind.client(useApi());
  const definition = useQuery({
    queryKey: [kind.resource, id],
    queryFn: () => client.get(id),
    refetchInterval: 2_000,
  });
  return (
    <ResourcePage kind={kind.label} up={kind.up} query={definition}>
      {children}
    </ResourcePage>
  );
}

/** The frame of a definition's page: its state above, the way to delete it below. */
export function DefinitionPage<T extends Definition>({
  kind,
  definition: { id, name, status },
  lead,
  actions,
  deleteNote,
  children,
}: {
  kind: DefinitionKind<T>;
  definition: T;
  lead?: string;
  actions: ReactNode;
  /** What deleting it means. */
  deleteNote: string;
  children: ReactNode;
}) {
  const client = kind.client(useApi());
  return (
    <Page title={name} up={kind.up} lead={lead} badge={<SyncBadge status={status} />} actions={actions}>
      <SyncProgress status={status} />
      {children}
      <DeleteCard
        text={deleteNote}
        name={name}
        action={`Delete ${kind.label.toLowerCase()}`}
        remove={() => client.delete(id)}
        resource={kind.resource}
        then={kind.up.href}
      />
    </Page>
  );
}
