import type { SourceView, WriteKeyView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/queries.js";
import { Button, CopyButton, IconButton } from "../../ui/controls/button.js";
import { Time } from "../../ui/data/facts.js";
import { Failure, useNotify } from "../../ui/feedback.js";
import { Confirm } from "../../ui/layout/dialog.js";
import { Card } from "../../ui/layout/page.js";

/** The write keys of a source: create, copy and remove. */
export function WriteKeys({ source }: { source: SourceView }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const [removing, setRemoving] = useState<string | undefined>();
  const refresh = () => queries.invalidateQueries({ queryKey: ["sources"] });
  const add = useMutation({
    mutationFn: () => api.sources.addWriteKey(source.id),
    onSuccess: async () => {
      await refresh();
      notify("Key created. The other keys stay valid until you remove them");
    },
  });
  const remove = useMutation({
    mutationFn: (key: string) => api.sources.removeWriteKey(source.id, key),
    onSuccess: async () => {
      setRemoving(undefined);
      await refresh();
    },
  });
  return (
    <Card
      title="Write keys"
      note="Oldest first. To rotate: create a key, switch your clients to it, remove the old key."
      actions={
        <Button size="small" icon="plus" busy={add.isPending} onClick={() => add.mutate()}>
          New key
        </Button>
      }
    >
      <ul className="lines">
        {source.writeKeys.map((one) => (
          <KeyLine
            key={one.key}
            writeKey={one}
            {...(source.writeKeys.length > 1 && { onRemove: () => setRemoving(one.key) })}
          />
        ))}
      </ul>
      {add.isError && <Failure error={add.error} />}
      <Confirm
        open={removing !== undefined}
        title="Remove this write key?"
        action="Remove key"
        busy={remove.isPending}
        error={remove.error}
        onClose={() => setRemoving(undefined)}
        onConfirm={() => removing !== undefined && remove.mutate(removing)}
      >
        Clients that still use <code>{removing}</code> get 401. Their messages are lost unless they retry with
        another key.
      </Confirm>
    </Card>
  );
}

function KeyLine({
  writeKey: { key, createdAt, isMasked = false },
  onRemove,
}: {
  writeKey: WriteKeyView;
  /** Absent: it is the last key. */
  onRemove?: () => void;
}) {
  return (
    <li>
      <code className="grow" title={isMasked ? "A read-only token cannot see complete keys" : undefined}>
        {key}
      </code>
      <span className="small faint">
        <Time at={createdAt} />
      </span>
      {!isMasked && <CopyButton text={key} label="Copy the write key" />}
      {!isMasked && onRemove && (
        <IconButton icon="deletions" label="Remove this write key" onClick={onRemove} />
      )}
    </li>
  );
}
