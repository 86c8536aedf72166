import type { CreatedTokenView, TokenAccess, TokenView } from "@sluice/control-api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi, useInfo } from "../../api/queries.js";
import { Button, IconButton } from "../../ui/controls/button.js";
import { SelectField, TextField } from "../../ui/controls/field.js";
import { CodeBlock } from "../../ui/data/code-block.js";
import { Badge, Time } from "../../ui/data/facts.js";
import { Table } from "../../ui/data/table.js";
import { Failure, QueryView, Skeleton } from "../../ui/feedback.js";
import { Confirm, Dialog, DialogActions } from "../../ui/layout/dialog.js";
import { Card } from "../../ui/layout/page.js";

export function TokensCard() {
  const api = useApi();
  const queries = useQueryClient();
  const ownId = useInfo().data?.token.id;
  const [isAdding, setAdding] = useState(false);
  const [revoking, setRevoking] = useState<TokenView | undefined>();
  const tokens = useQuery({
    queryKey: ["tokens"],
    queryFn: async () => (await api.tokens.list({ limit: 500 })).items,
  });
  const revoke = useMutation({
    mutationFn: (id: string) => api.tokens.revoke(id),
    onSuccess: () => setRevoking(undefined),
    onSettled: () => queries.invalidateQueries({ queryKey: ["tokens"] }),
  });
  return (
    <Card
      title="Admin tokens"
      note="Oldest first. Only hashes are stored, so a token is shown once, when you create it."
      flush
      actions={
        <Button size="small" icon="plus" onClick={() => setAdding(true)}>
          New token
        </Button>
      }
    >
      <QueryView query={tokens} skeleton={<Skeleton lines={2} />}>
        {(items) => <TokenTable tokens={items} ownId={ownId} onRevoke={setRevoking} />}
      </QueryView>
      <NewToken open={isAdding} onClose={() => setAdding(false)} />
      <Confirm
        open={revoking !== undefined}
        title={`Revoke ${revoking?.name ?? "this token"}?`}
        action="Revoke token"
        busy={revoke.isPending}
        error={revoke.error}
        onClose={() => setRevoking(undefined)}
        onConfirm={() => revoking && revoke.mutate(revoking.id)}
      >
        {revoking?.id === ownId
          ? "This is the token of your session. You will be signed out."
          : "Requests with this token get 401 from now on."}
      </Confirm>
    </Card>
  );
}

function TokenTable({
  tokens,
  ownId,
  onRevoke,
}: {
  tokens: readonly TokenView[];
  ownId: string | undefined;
  onRevoke: (token: TokenView) => void;
}) {
  return (
    <Table
      label="Admin tokens, oldest first"
      items={tokens}
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
        { head: "Access", cell: (token) => ACCESS[token.access] },
        { head: "Created", align: "end", cell: (token) => <Time at={token.createdAt} /> },
        {
          head: "Actions",
          align: "end",
          cell: (token) => (
            <IconButton icon="deletions" label={`Revoke ${token.name}`} onClick={() => onRevoke(token)} />
          ),
        },
      ]}
    />
  );
}

function NewToken({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [created, setCreated] = useState<CreatedTokenView | undefined>();
  const close = () => {
    setCreated(undefined);
    onClose();
  };
  return (
    <Dialog
      open={open}
      onClose={close}
      title={created === undefined ? "New admin token" : "Copy the token now"}
    >
      {created === undefined ? (
        <NewTokenForm onCreated={setCreated} onClose={close} />
      ) : (
        <div className="stack">
          <p className="soft">“{created.name}” is not shown again.</p>
          <CodeBlock code={created.token} label="The new token" wrap />
          <div className="row dialog-actions">
            <Button look="primary" onClick={close}>
              Done
            </Button>
          </div>
        </div>
      )}
    </Dialog>
  );
}

const ACCESS: Readonly<Record<TokenAccess, string>> = {
  full: "Full access",
  read: "Read only",
  metrics: "Only /metrics",
};

function NewTokenForm({
  onCreated,
  onClose,
}: {
  onCreated: (token: CreatedTokenView) => void;
  onClose: () => void;
}) {
  const api = useApi();
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [access, setAccess] = useState<TokenAccess>("read");
  const create = useMutation({
    mutationFn: () => api.tokens.create({ name: name.trim(), access }),
    onSuccess: async (token) => {
      onCreated(token);
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
          ["read", ACCESS.read],
          ["full", ACCESS.full],
          ["metrics", ACCESS.metrics],
        ]}
        onChange={(event) => setAccess(event.target.value as TokenAccess)}
      />
      {create.isError && <Failure error={create.error} />}
      <DialogActions busy={create.isPending} onCancel={onClose}>
        Create token
      </DialogActions>
    </form>
  );
}
