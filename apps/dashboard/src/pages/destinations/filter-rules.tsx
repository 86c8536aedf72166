import type { DestinationView, FilterRuleView } from "@sluice/protocol";
import { MESSAGE_KINDS } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../api/api-context.js";
import { Button, IconButton } from "../../ui/button.js";
import { Failure } from "../../ui/failure.js";
import { SelectField, TextField } from "../../ui/field.js";
import { Card } from "../../ui/page.js";
import { ruleInWords } from "./rule-words.js";

/** Rules that drop, sample or thin out what this destination is sent. */
export function FilterRules({ destination }: { destination: DestinationView }) {
  const api = useApi();
  const queries = useQueryClient();
  const save = useMutation({
    mutationFn: (filters: readonly FilterRuleView[]) =>
      api.destinations.patch(destination.id, { filters, version: destination.version }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["destinations"] }),
  });
  const rules = destination.filters;
  return (
    <Card
      title="Filter"
      note="Asked from top to bottom, the first rule that matches acts. What is filtered stays stored and counted."
    >
      <div className="stack">
        {rules.length > 0 && (
          <ol className="lines">
            {rules.map((rule, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rules have no other name than their place
              <li key={index}>
                <span className="grow">{ruleInWords(rule)}</span>
                <IconButton
                  icon="close"
                  label={`Remove rule ${index + 1}`}
                  onClick={() => save.mutate(rules.filter((_, at) => at !== index))}
                />
              </li>
            ))}
          </ol>
        )}
        <NewRule busy={save.isPending} onAdd={(rule) => save.mutate([...rules, rule])} />
        {save.isError && <Failure error={save.error} />}
      </div>
    </Card>
  );
}

type Action = "drop" | "sample" | "remove";

function NewRule({ busy, onAdd }: { busy: boolean; onAdd: (rule: FilterRuleView) => void }) {
  const [action, setAction] = useState<Action>("drop");
  const [kind, setKind] = useState("");
  const [event, setEvent] = useState("");
  const [detail, setDetail] = useState("");
  const submit = (submitted: FormEvent) => {
    submitted.preventDefault();
    onAdd({
      ...(kind === "" ? {} : { kinds: [kind] }),
      ...(event.trim() === "" ? {} : { events: [event.trim()] }),
      action: actionOf(action, detail),
    });
    setEvent("");
    setDetail("");
  };
  return (
    <form className="rule-form" onSubmit={submit}>
      <SelectField
        label="What to do"
        value={action}
        options={[
          ["drop", "Drop"],
          ["sample", "Keep a share of"],
          ["remove", "Remove fields of"],
        ]}
        onChange={(change) => setAction(change.target.value as Action)}
      />
      <SelectField
        label="Kind"
        value={kind}
        options={[["", "Every kind"], ...MESSAGE_KINDS.map((name) => [name, name] as const)]}
        onChange={(change) => setKind(change.target.value)}
      />
      <TextField
        label="Event"
        optional
        placeholder="Any event"
        value={event}
        onChange={(change) => setEvent(change.target.value)}
      />
      {action === "sample" && (
        <TextField
          label="Share kept, in %"
          type="number"
          min={0}
          max={100}
          required
          value={detail}
          onChange={(change) => setDetail(change.target.value)}
        />
      )}
      {action === "remove" && (
        <TextField
          label="Fields"
          placeholder="properties.email, context.ip"
          required
          value={detail}
          onChange={(change) => setDetail(change.target.value)}
        />
      )}
      <Button type="submit" busy={busy}>
        Add rule
      </Button>
    </form>
  );
}

function actionOf(action: Action, detail: string): FilterRuleView["action"] {
  switch (action) {
    case "drop":
      return { kind: "drop" };
    case "sample":
      return { kind: "sample", share: Number(detail) / 100 };
    case "remove":
      return {
        kind: "remove",
        paths: detail
          .split(",")
          .map((path) => path.trim())
          .filter(Boolean),
      };
    default:
      return action satisfies never;
  }
}
