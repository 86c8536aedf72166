import type { SourceKindView, SourceView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link, useLocation } from "wouter";
import { useActivity, useApi, useDestinations, useHealth, useSources } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button } from "../../ui/controls/button.js";
import { SelectField, TextField } from "../../ui/controls/field.js";
import { Badge, LastAt } from "../../ui/data/facts.js";
import { Table } from "../../ui/data/table.js";
import { EmptyState, Failure } from "../../ui/feedback.js";
import { Dialog, DialogActions } from "../../ui/layout/dialog.js";
import { ListCard, Page } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { count, rateText } from "../../words/numbers.js";
import { healthWords, needsAttention } from "../../words/states.js";
import { HealthBadge } from "../destinations/health/destination-health.js";
import { SOURCE_KINDS } from "./source-link.js";

function NewSource({ open, onClose }: { open: boolean; onClose: () => void }) {
  const api = useApi();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [name, setName] = useState("");
  const [kind, setKind] = useState<SourceKindView>("server");
  const create = useMutation({
    mutationFn: () => api.sources.create({ name: name.trim(), kind }),
    onSuccess: async (source) => {
      await queries.invalidateQueries({ queryKey: ["sources"] });
      onClose();
      navigate(addresses.source(source.id));
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "") create.mutate();
  };
  return (
    <Dialog open={open} onClose={onClose} title="New source">
      <form className="stack" onSubmit={submit}>
        <TextField
          label="Name"
          placeholder="Web shop"
          required
          maxLength={100}
          error={name !== "" && name.trim() === "" ? "Enter a name." : undefined}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <SelectField
          label="Kind"
          hint={SOURCE_KINDS[kind].hint}
          value={kind}
          onChange={(event) => setKind(event.target.value as SourceKindView)}
          options={Object.entries(SOURCE_KINDS).map(([value, words]) => [value, words.label])}
        />
        {create.isError && <Failure error={create.error} />}
        <DialogActions busy={create.isPending} onCancel={onClose}>
          Create source
        </DialogActions>
      </form>
    </Dialog>
  );
}

export function SourcesPage() {
  const sources = useSources();
  const [isAdding, setAdding] = useState(false);
  const add = (look: "primary" | "plain") => (
    <Button look={look} icon="plus" onClick={() => setAdding(true)}>
      New source
    </Button>
  );
  return (
    <Page
      title="Sources"
      lead="Where messages come from. Each source has its own write keys and destinations."
      actions={add(sources.data?.length === 0 ? "plain" : "primary")}
    >
      <ListCard
        query={sources}
        empty={
          <EmptyState icon="sources" title="No sources yet" action={add("primary")}>
            <p>A source is a server, a website or an app that sends messages. You get a write key for it.</p>
          </EmptyState>
        }
      >
        {(items) => <SourceTable sources={items} />}
      </ListCard>
      <NewSource open={isAdding} onClose={() => setAdding(false)} />
    </Page>
  );
}

function SourceTable({ sources }: { sources: readonly SourceView[] }) {
  const health = useHealth().data;
  const activity = useActivity().data;
  const destinations = useDestinations().data ?? [];
  const illIds = new Set(
    health?.destinations.filter((one) => needsAttention(one.health)).map((one) => one.destinationId),
  );
  const activityOf = (id: string) => activity?.sources.find(({ sourceId }) => sourceId === id);
  return (
    <Table
      label="Sources, oldest first"
      oneLine="names"
      items={sources}
      keyOf={(source) => source.id}
      columns={[
        {
          head: "Name",
          lead: true,
          cell: (source) => (
            <Link className="strong-link" href={addresses.source(source.id)} title={source.name}>
              {source.name}
            </Link>
          ),
        },
        { head: "Kind", fit: true, cell: (source) => SOURCE_KINDS[source.kind].label },
        {
          head: "Destinations",
          fit: true,
          cell: ({ id }) => {
            const found = health?.sources.find(({ sourceId }) => sourceId === id);
            if (found === undefined) return "…";
            const connected = destinations.filter(({ sourceIds }) => sourceIds.includes(id));
            if (connected.length === 0) return <span className="faint">None</span>;
            const ill = connected.filter((one) => illIds.has(one.id)).length;
            return (
              <>
                {connected.length}{" "}
                {ill > 0 && connected.length > 1 ? (
                  <Badge tone={healthWords(found.health).tone} title={visibleText(found.reason)}>
                    {ill} need{ill === 1 ? "s" : ""} attention
                  </Badge>
                ) : (
                  <HealthBadge of={found} />
                )}
              </>
            );
          },
        },
        {
          head: "Rate",
          align: "end",
          cell: ({ id }) => rateText(activityOf(id)?.accepted, activity?.overMs),
        },
        {
          head: "Last hour",
          align: "end",
          cell: ({ id }) => (activity === undefined ? "…" : count(activityOf(id)?.accepted ?? 0)),
        },
        {
          head: "Last message",
          align: "end",
          cell: ({ id }) => (activity === undefined ? "…" : <LastAt at={activityOf(id)?.lastMessageAt} />),
        },
      ]}
    />
  );
}
