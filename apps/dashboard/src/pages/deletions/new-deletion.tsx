import type { DeletionPlan } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi, useNames } from "../../api/queries.js";
import { Button } from "../../ui/controls/button.js";
import { AreaField, Checkbox } from "../../ui/controls/field.js";
import { Failure } from "../../ui/feedback.js";
import { Dialog, DialogActions } from "../../ui/layout/dialog.js";
import { visibleText } from "../../words/messages.js";
import { counted } from "../../words/numbers.js";

/** Ids listed per user; the others are only counted. */
const SHOWN = 20;

/** What a deletion would remove, by user. */
function DeletionPlanView({ plan }: { plan: DeletionPlan }) {
  return (
    <section className="stack-tight" aria-label="Preview of the deletion">
      <h3>The following data will be deleted</h3>
      <ul className="receipt">
        {plan.users.map((user) => (
          <PlannedUser
            key={`${user.userId === undefined}${user.userId ?? user.anonymousId}`}
            user={user}
            includeAliases={plan.includeAliases}
          />
        ))}
      </ul>
    </section>
  );
}

function PlannedUser({
  user,
  includeAliases,
}: {
  user: DeletionPlan["users"][number];
  includeAliases: boolean;
}) {
  const names = useNames();
  const { userId, anonymousId = "", anonymousIds, aliases } = user;
  return (
    <li>
      <span>
        <code className="receipt-id">{visibleText(userId ?? anonymousId, 200)}</code>
        {userId === undefined && <span className="small soft"> anonymous</span>}
      </span>
      <span className="small soft">
        {counted(user.messages, "message")}
        {user.messagesBySource.length > 0 &&
          ` (${user.messagesBySource.map((one) => `${names.source(one.sourceId)}: ${one.messages}`).join(", ")})`}
        , {counted(user.attempts, "attempt")}, {counted(user.retries, "pending retry", "pending retries")},{" "}
        {user.profile ? "the profile" : "no profile"}, {counted(user.audienceMemberships, "membership")}
      </span>
      {anonymousIds.length > 0 && (
        <span className="small soft">
          With {counted(anonymousIds.length, "anonymous id")}: <Ids ids={anonymousIds} />
        </span>
      )}
      {aliases.length > 0 && (
        <span className="small">
          {includeAliases ? "Aliases that are also deleted: " : "Aliases that are kept: "}
          <Ids ids={aliases} />
        </span>
      )}
    </li>
  );
}

function Ids({ ids }: { ids: readonly string[] }) {
  const more = ids.length - SHOWN;
  return (
    <>
      <code>
        {ids
          .slice(0, SHOWN)
          .map((id) => visibleText(id, 80))
          .join(", ")}
      </code>
      {more > 0 && ` and ${more} more`}
    </>
  );
}

const MOST_IDS = 1_000;

/** The form of a deletion, as typed. */
interface DeletionDraft {
  /** User ids, one per line. */
  readonly users: string;
  /** Anonymous ids, one per line. */
  readonly visitors: string;
  readonly suppress: boolean;
  readonly includeAliases: boolean;
}

const EMPTY: DeletionDraft = { users: "", visitors: "", suppress: false, includeAliases: false };

export function NewDeletion({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Delete users">
      <NewDeletionForm onClose={onClose} />
    </Dialog>
  );
}

/** Two steps: the ids, then a `dryRun` shows what would be deleted and asks for confirmation. */
function NewDeletionForm({ onClose }: { onClose: () => void }) {
  const api = useApi();
  const queries = useQueryClient();
  const [draft, setDraft] = useState<DeletionDraft>(EMPTY);
  const { suppress, includeAliases } = draft;
  const userIds = idsIn(draft.users);
  const anonymousIds = idsIn(draft.visitors);
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
      <DeletionFields draft={draft} count={count} change={(part) => setDraft({ ...draft, ...part })} />
      {plan.isError && <Failure error={plan.error} />}
      <DialogActions busy={plan.isPending} disabled={count === 0} onCancel={onClose}>
        Preview the deletion
      </DialogActions>
    </form>
  );
}

function DeletionFields({
  draft,
  count,
  change,
}: {
  draft: DeletionDraft;
  count: number;
  change: (part: Partial<DeletionDraft>) => void;
}) {
  return (
    <>
      <AreaField
        className="mono"
        label="User ids"
        hint={`One per line. Up to ${MOST_IDS.toLocaleString("en")} ids, anonymous ids included.`}
        error={count > MOST_IDS ? `Too many ids: ${counted(count, "id")}.` : undefined}
        rows={4}
        value={draft.users}
        onChange={({ target }) => change({ users: target.value })}
      />
      <AreaField
        className="mono"
        label="Anonymous ids"
        hint="One per line. Only for visitors who were never identified; a user's anonymous ids are deleted with the user."
        rows={2}
        value={draft.visitors}
        onChange={({ target }) => change({ visitors: target.value })}
      />
      <Checkbox
        label="Also delete their aliases"
        hint="Other user ids that alias messages linked to these. The next step lists them."
        checked={draft.includeAliases}
        onChange={(includeAliases) => change({ includeAliases })}
      />
      <Checkbox
        label="Suppress these users"
        hint="Rejects their later messages until you lift the suppression. Otherwise a returning user starts with a new profile."
        checked={draft.suppress}
        onChange={(suppress) => change({ suppress })}
      />
    </>
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
        {plan.suppress && "Later messages of these users are rejected. "}The deletion starts immediately and
        cannot be undone.
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

function idsIn(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim());
  return [...new Set(lines.filter(Boolean))];
}
