import type { SourceKindView, SourceView } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link, useLocation } from "wouter";
import { useApi } from "../../api/api-context.js";
import { useSources } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button } from "../../ui/controls/button.js";
import { SelectField, TextField } from "../../ui/controls/field.js";
import { Table } from "../../ui/data/table.js";
import { Time } from "../../ui/data/time.js";
import { EmptyState } from "../../ui/feedback/empty-state.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Dialog } from "../../ui/layout/dialog.js";
import { Card, Page } from "../../ui/layout/page.js";
import { counted } from "../../words/numbers.js";
import { SOURCE_KINDS } from "./source-kinds.js";

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
      lead="Where messages come from. Each has its own write keys and its own destinations."
      actions={add(sources.data?.length === 0 ? "plain" : "primary")}
    >
      {sources.isError ? (
        <Failure error={sources.error} onRetry={() => void sources.refetch()} />
      ) : (
        <Card flush>
          {sources.isPending ? (
            <Skeleton />
          ) : sources.data.length === 0 ? (
            <EmptyState icon="sources" title="No source yet" action={add("primary")}>
              <p>
                A source is a server, a site or an app that sends messages. Making one gives you a write key.
              </p>
            </EmptyState>
          ) : (
            <SourceTable sources={sources.data} />
          )}
        </Card>
      )}
      <NewSource open={isAdding} onClose={() => setAdding(false)} />
    </Page>
  );
}

function SourceTable({ sources }: { sources: readonly SourceView[] }) {
  return (
    <Table
      label="Sources, oldest first"
      items={sources}
      keyOf={(source) => source.id}
      columns={[
        {
          head: "Name",
          lead: true,
          cell: (source) => (
            <Link className="strong-link" href={addresses.source(source.id)}>
              {source.name}
            </Link>
          ),
        },
        { head: "Kind", cell: (source) => SOURCE_KINDS[source.kind].label },
        { head: "Write keys", cell: (source) => counted(source.writeKeys.length, "key"), align: "end" },
        { head: "Blocked events", cell: (source) => source.blockedEvents.length || "None", align: "end" },
        { head: "Made", cell: (source) => <Time at={source.createdAt} />, align: "end" },
      ]}
    />
  );
}

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
    create.mutate();
  };
  return (
    <Dialog open={open} onClose={onClose} title="New source">
      <form className="stack" onSubmit={submit}>
        <TextField
          label="Name"
          placeholder="Web shop"
          required
          maxLength={100}
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
        <div className="row dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" busy={create.isPending}>
            Create source
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
