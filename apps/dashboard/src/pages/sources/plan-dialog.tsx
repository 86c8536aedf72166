import type { SourcePlanView } from "@sluice/control-api";
import { isPlainObject, readPlan } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../api/queries.js";
import { AreaField } from "../../ui/controls/field.js";
import { Failure, useNotify } from "../../ui/feedback.js";
import { Dialog, DialogActions } from "../../ui/layout/dialog.js";

const EXAMPLE = `{
  "track": {
    "Order Completed": {
      "type": "object",
      "properties": { "total": { "type": "number" } },
      "required": ["total"]
    }
  }
}`;

/** Adds or replaces the tracking plan of a source. A new plan only reports at first. */
export function PlanDialog({
  open,
  ...form
}: {
  sourceId: string;
  present: SourcePlanView | undefined;
  open: boolean;
  onClose: () => void;
}) {
  return (
    <Dialog
      open={open}
      onClose={form.onClose}
      title={form.present === undefined ? "Add a tracking plan" : "Replace the tracking plan"}
    >
      <PlanForm {...form} />
    </Dialog>
  );
}

function PlanForm({
  sourceId,
  present,
  onClose,
}: {
  sourceId: string;
  present: SourcePlanView | undefined;
  onClose: () => void;
}) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const [text, setText] = useState(present === undefined ? "" : JSON.stringify(present.plan, null, 2));
  const [mistake, setMistake] = useState<string | undefined>();
  const save = useMutation({
    mutationFn: (plan: { readonly [field: string]: unknown }) => api.sources.setPlan(sourceId, { plan }),
    onSuccess: () => {
      notify("Saved");
      onClose();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["source-plan", sourceId] }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const read = readText(text);
    setMistake(read.kind === "mistake" ? read.message : undefined);
    if (read.kind === "plan") save.mutate(read.json);
  };
  return (
    <form className="stack" onSubmit={submit}>
      <AreaField
        className="mono plan-text"
        label="Plan"
        error={mistake}
        hint={
          present === undefined
            ? "JSON. Exports of Segment and RudderStack work too. A new plan reports violations and refuses nothing."
            : "JSON. The mode stays as it is."
        }
        rows={14}
        placeholder={EXAMPLE}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      {save.isError && <Failure error={save.error} />}
      <DialogActions busy={save.isPending} onCancel={onClose}>
        Save
      </DialogActions>
    </form>
  );
}

type Read =
  | { readonly kind: "plan"; readonly json: { readonly [field: string]: unknown } }
  | { readonly kind: "mistake"; readonly message: string };

function readText(text: string): Read {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return {
      kind: "mistake",
      message: `This is not JSON: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
  const reading = readPlan(json);
  if (reading.kind === "plan" && isPlainObject(json)) return { kind: "plan", json };
  const [first] = reading.kind === "invalid" ? reading.issues : [];
  return {
    kind: "mistake",
    message: first === undefined ? "A plan must be an object." : `${first.path} ${first.message}.`.trim(),
  };
}
