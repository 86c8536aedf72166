import type { CreatedTokenView, TokenAccess, TokenView } from "@sluice/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../api/api-context.js";
import { useInfo } from "../../api/queries.js";
import { Button, IconButton } from "../../ui/controls/button.js";
import { SelectField, TextField } from "../../ui/controls/field.js";
import { Badge } from "../../ui/data/badge.js";
import { CodeBlock } from "../../ui/data/code-block.js";
import { Table } from "../../ui/data/table.js";
import { Time } from "../../ui/data/time.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Confirm } from "../../ui/layout/confirm.js";
import { Dialog } from "../../ui/layout/dialog.js";
import { Card } from "../../ui/layout/page.js";

export function TokensCard() {
  const api = useApi();
  const queries = useQueryClient();
  const ownId = useInfo().data?.token.id;
  const [isAdding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<TokenView | undefined>();
  const tokens = useQuery({
    queryKey: ["tokens"],
    queryFn: async () => (await api.tokens.list({ limit: 500 })).items,
  });
  const revoke = useMutation({
    mutationFn: (id: string) => api.tokens.revoke(id),
    onSuccess: () => setLeaving(undefined),
    onSettled: () => queries.invalidateQueries({ queryKey: ["tokens"] }),
  });
  return (
    <Card
      title="Admin tokens"
      note="Oldest first. Only their hashes are kept: a token is shown once, when it is made."
      flush
      actions={
        <Button size="small" icon="plus" onClick={() => setAdding(true)}>
          New token
        </Button>
      }
    >
      {tokens.isError ? (
        <Failure error={tokens.error} />
      ) : tokens.isPending ? (
        <Skeleton lines={2} />
      ) : (
        <Table
          label="Admin tokens, oldest first"
          items={tokens.data}
          keyOf={(token) => token.id}
          columns={[
            {
              head: "Name",
              lead: true,
              cell: (token) => (
                <span className="row">
                  {token.name}
                  {token.id === ownId && <Badge tone="accent">This session</Badge>}
                </span>
              ),
            },
            { head: "Access", cell: (token) => (token.access === "read" ? "Read only" : "Full") },
            { head: "Made", align: "end", cell: (token) => <Time at={token.createdAt} /> },
            {
              head: "Revoke",
              align: "end",
              cell: (token) => (
                <IconButton
                  icon="deletions"
                  label={`Revoke ${token.name}`}
                  onClick={() => setLeaving(token)}
                />
              ),
            },
          ]}
        />
      )}
      <NewToken open={isAdding} onClose={() => setAdding(false)} />
      <Confirm
        open={leaving !== undefined}
        title={`Revoke ${leaving?.name ?? "this token"}?`}
        action="Revoke token"
        busy={revoke.isPending}
        error={revoke.error}
        onClose={() => setLeaving(undefined)}
        onConfirm={() => leaving && revoke.mutate(leaving.id)}
      >
        {leaving?.id === ownId
          ? "It is the token of this session: you are signed out at once."
          : "Whoever uses it is answered 401 from now on."}
      </Confirm>
    </Card>
  );
}

function NewToken({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [made, setMade] = useState<CreatedTokenView | undefined>();
  const close = () => {
    setMade(undefined);
    onClose();
  };
  return (
    <Dialog open={open} onClose={close} title={made === undefined ? "New admin token" : "Copy it now"}>
      {made === undefined ? (
        <NewTokenForm onMade={setMade} onClose={close} />
      ) : (
        <div className="stack">
          <p className="soft">This is the only time that “{made.name}” is shown.</p>
          <CodeBlock code={made.token} label="The new token" wrap />
          <div className="row dialog-actions">
            <Button look="primary" onClick={close}>
              I have it
            </Button>
          </div>
        </div>
      )}
    </Dialog>
  );
}

function NewTokenForm({
  onMade,
  onClose,
}: {
  onMade: (token: CreatedTokenView) => void;
  onClose: () => void;
}) {
  const api = useApi();
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [access, setAccess] = useState<TokenAccess>("read");
  const create = useMutation({
    mutationFn: () => api.tokens.create({ name: name.trim(), access }),
    onSuccess: async (token) => {
      onMade(token);
      await queries.invalidateQueries({ queryKey: ["tokens"] });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      <TextField
        label="Name"
        placeholder="CI"
        required
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <SelectField
        label="Access"
        value={access}
        options={[
          ["read", "Read only"],
          ["full", "Full: may change things"],
        ]}
        onChange={(event) => setAccess(event.target.value as TokenAccess)}
      />
      {create.isError && <Failure error={create.error} />}
      <div className="row dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" busy={create.isPending}>
          Create token
        </Button>
      </div>
    </form>
  );
}
