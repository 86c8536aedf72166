import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../api/api-context.js";
import { Button } from "../../ui/button.js";
import { Dialog } from "../../ui/dialog.js";
import { Failure } from "../../ui/failure.js";
import { Checkbox, Field } from "../../ui/field.js";
import { counted } from "../../words/numbers.js";

const MOST_USERS = 1_000;

export function NewDeletion({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Delete users">
      <NewDeletionForm onClose={onClose} />
    </Dialog>
  );
}

function NewDeletionForm({ onClose }: { onClose: () => void }) {
  const api = useApi();
  const queries = useQueryClient();
  const [text, setText] = useState("");
  const [suppress, setSuppress] = useState(false);
  const userIds = [
    ...new Set(
      text
        .split("\n")
        .map((line) => line.trim())
        .filter(Boolean),
    ),
  ];
  const create = useMutation({
    mutationFn: () => api.deletions.create({ userIds, ...(suppress ? { suppress } : {}) }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["deletions"] });
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (userIds.length > 0 && userIds.length <= MOST_USERS) create.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      <Field
        label="User ids"
        hint={`One a line, ${MOST_USERS.toLocaleString("en")} at most.`}
        error={
          userIds.length > MOST_USERS ? `${counted(userIds.length, "id")} are too many at once.` : undefined
        }
      >
        {(wiring) => (
          <textarea
            {...wiring}
            className="input mono"
            rows={5}
            spellCheck={false}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
      <Checkbox
        label="Also refuse their later messages"
        hint="Until you lift it below. Without this, a user who comes back begins anew."
        checked={suppress}
        onChange={setSuppress}
      />
      {create.isError && <Failure error={create.error} />}
      <p className="soft">It begins at once and cannot be taken back.</p>
      <div className="row dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" type="submit" busy={create.isPending} disabled={userIds.length === 0}>
          Delete {userIds.length === 0 ? "users" : counted(userIds.length, "user")}
        </Button>
      </div>
    </form>
  );
}
