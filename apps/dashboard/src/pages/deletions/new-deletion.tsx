import type { DeletionPlan } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../api/api-context.js";
import { Button } from "../../ui/controls/button.js";
import { Checkbox, Field } from "../../ui/controls/field.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Dialog } from "../../ui/layout/dialog.js";
import { counted } from "../../words/numbers.js";
import { DeletionPlanView } from "./deletion-plan-view.js";

const MOST_IDS = 1_000;

export function NewDeletion({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Delete users">
      <NewDeletionForm onClose={onClose} />
    </Dialog>
  );
}

/** Two steps: who, then a `dryRun` of the deletion shows what would go and asks for confirmation. */
function NewDeletionForm({ onClose }: { onClose: () => void }) {
  const api = useApi();
  const queries = useQueryClient();
  const [users, setUsers] = useState("");
  const [visitors, setVisitors] = useState("");
  const [suppress, setSuppress] = useState(false);
  const [includeAliases, setIncludeAliases] = useState(false);
  const userIds = idsIn(users);
  const anonymousIds = idsIn(visitors);
  const count = userIds.length + anonymousIds.length;
  const input = { userIds, anonymousIds, suppress, includeAliases };
  const plan = useMutation({ mutationFn: () => api.deletions.plan(input) });
  const create = useMutation({
    mutationFn: () => api.deletions.create(input),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["deletions"] });
      onClose();
    },
  });
  if (plan.data !== undefined)
    return <Confirmation plan={plan.data} count={count} create={create} onBack={plan.reset} />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (count > 0 && count <= MOST_IDS) plan.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      <IdsField
        label="User ids"
        hint={`One a line. With the anonymous ids ${MOST_IDS.toLocaleString("en")} at most.`}
        error={count > MOST_IDS ? `${counted(count, "id")} are too many at once.` : undefined}
        rows={4}
        value={users}
        onChange={setUsers}
      />
      <IdsField
        label="Anonymous ids"
        hint="One a line: visitors who were never identified. A user's own go with the user."
        rows={2}
        value={visitors}
        onChange={setVisitors}
      />
      <Checkbox
        label="Also delete their aliases"
        hint="Other user ids that were joined to these by an alias message. The next step lists them."
        checked={includeAliases}
        onChange={setIncludeAliases}
      />
      <Checkbox
        label="Also refuse their later messages"
        hint="Until you lift it below. Without this, a user who comes back begins anew."
        checked={suppress}
        onChange={setSuppress}
      />
      {plan.isError && <Failure error={plan.error} />}
      <div className="row dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" busy={plan.isPending} disabled={count === 0}>
          Show what would go
        </Button>
      </div>
    </form>
  );
}

function Confirmation({
  plan,
  count,
  create,
  onBack,
}: {
  plan: DeletionPlan;
  count: number;
  create: {
    readonly isPending: boolean;
    readonly isError: boolean;
    readonly error: Error | null;
    mutate(): void;
  };
  onBack: () => void;
}) {
  return (
    <div className="stack">
      <DeletionPlanView plan={plan} />
      {create.isError && <Failure error={create.error} />}
      <p className="soft">
        {plan.suppress && "Their later messages are refused. "}It begins at once and cannot be taken back.
      </p>
      <div className="row dialog-actions">
        <Button onClick={onBack}>Back</Button>
        <Button look="danger" busy={create.isPending} onClick={() => create.mutate()}>
          Delete {counted(count, "user")}
        </Button>
      </div>
    </div>
  );
}

function IdsField({
  label,
  hint,
  error,
  rows,
  value,
  onChange,
}: {
  label: string;
  hint: string;
  error?: string | undefined;
  rows: number;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(wiring) => (
        <textarea
          {...wiring}
          className="input mono"
          rows={rows}
          spellCheck={false}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

function idsIn(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim());
  return [...new Set(lines.filter(Boolean))];
}
