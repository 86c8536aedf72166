import type { DestinationView, FilterRuleView } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../../api/api-context.js";
import { newerOf } from "../../../forms/use-draft.js";
import { Button } from "../../../ui/controls/button.js";
import { Menu, MenuItem } from "../../../ui/controls/menu.js";
import { Failure } from "../../../ui/feedback/failure.js";
import { Card } from "../../../ui/layout/page.js";
import { RuleDialog } from "./rule-dialog.js";
import { moved, withRule } from "./rule-draft.js";
import { ruleInWords } from "./rule-words.js";

type Editing =
  | { readonly kind: "nothing" }
  | { readonly kind: "new"; readonly of: DestinationView }
  /** `of` is the destination as it was when editing began: if somebody changed it since, saving says so. */
  | { readonly kind: "rule"; readonly of: DestinationView; readonly index: number };

/** Rules that drop, sample or thin out what this destination is sent. */
export function FilterRules({ destination }: { destination: DestinationView }) {
  const api = useApi();
  const queries = useQueryClient();
  const [editing, setEditing] = useState<Editing>({ kind: "nothing" });
  const save = useMutation({
    mutationFn: ({ of, filters }: { of: DestinationView; filters: readonly FilterRuleView[] }) =>
      api.destinations.patch(of.id, { filters, version: of.version }),
    onSuccess: () => setEditing({ kind: "nothing" }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["destinations"] }),
  });
  const rules = destination.filters;
  const change = (filters: readonly FilterRuleView[]) => save.mutate({ of: destination, filters });
  const isOpen = editing.kind !== "nothing";
  const edit = (next: Editing) => {
    save.reset();
    setEditing(next);
  };
  return (
    <Card
      title="Filter"
      note="From top to bottom. The first rule that drops or keeps a share decides; rules that remove fields add up. What is filtered stays stored and counted."
      actions={
        <Button size="small" icon="plus" onClick={() => edit({ kind: "new", of: destination })}>
          New rule
        </Button>
      }
    >
      <div className="stack">
        {rules.length === 0 ? (
          <p className="soft">No rule: every message of its sources is sent as it is.</p>
        ) : (
          <ol className="lines">
            {rules.map((rule, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rules have no other name than their place
              <li key={index}>
                <span className="faint number">{index + 1}</span>
                <button
                  type="button"
                  className="text-button grow rule-text"
                  onClick={() => edit({ kind: "rule", of: destination, index })}
                >
                  {ruleInWords(rule)}
                  <span className="visually-hidden">, edit it</span>
                </button>
                <Menu label={`Rule ${index + 1}`} icon="more">
                  <MenuItem icon="edit" onSelect={() => edit({ kind: "rule", of: destination, index })}>
                    Edit
                  </MenuItem>
                  {index > 0 && (
                    <MenuItem icon="up" onSelect={() => change(moved(rules, index, -1))}>
                      Move up
                    </MenuItem>
                  )}
                  {index < rules.length - 1 && (
                    <MenuItem icon="down" onSelect={() => change(moved(rules, index, 1))}>
                      Move down
                    </MenuItem>
                  )}
                  <MenuItem
                    icon="deletions"
                    danger
                    onSelect={() => change(rules.filter((_, at) => at !== index))}
                  >
                    Remove
                  </MenuItem>
                </Menu>
              </li>
            ))}
          </ol>
        )}
        {save.isError && !isOpen && <Failure error={save.error} />}
      </div>
      <RuleDialog
        open={isOpen}
        rule={editing.kind === "rule" ? editing.of.filters[editing.index] : undefined}
        busy={save.isPending}
        error={isOpen ? save.error : undefined}
        theirs={
          editing.kind === "nothing"
            ? undefined
            : newerOf(editing.of, destination, ({ filters }) => ({ "the rules": filters }))
        }
        onTheirs={() => edit({ kind: "nothing" })}
        onClose={() => edit({ kind: "nothing" })}
        onSave={(rule, upon) => {
          if (editing.kind === "nothing") return;
          const of = upon ?? latestWithRules(editing.of, destination);
          const edited = editing.kind === "rule" ? editing.of.filters[editing.index] : undefined;
          save.mutate({ of, filters: withRule(of.filters, edited, rule) });
        }}
      />
    </Card>
  );
}

/** The destination to save upon: as it was when editing began if its rules were changed since, else as it is now. */
function latestWithRules(begun: DestinationView, latest: DestinationView): DestinationView {
  return JSON.stringify(begun.filters) === JSON.stringify(latest.filters) ? latest : begun;
}
