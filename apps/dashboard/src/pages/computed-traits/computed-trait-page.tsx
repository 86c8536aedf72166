import type { ComputedTraitView } from "@sluice/control-api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { useApi, usePagedQuery } from "../../api/queries.js";
import { Button, LoadMore } from "../../ui/controls/button.js";
import { Failure, QueryView, Skeleton } from "../../ui/feedback.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { count, counted, duration } from "../../words/numbers.js";
import { COMPUTED_TRAITS } from "../definitions/definition-kind.js";
import { DefinitionPage, LoadedDefinition } from "../definitions/definition-page.js";
import { DefinitionFacts } from "../definitions/definition-parts.js";
import { TraitDialog } from "./trait-dialog.js";
import { noValuesInWords, traitInWords } from "./trait-draft.js";
import { Value, ValueCard, ValueList } from "./value-card.js";

export function ComputedTraitPage({ id }: { id: string }) {
  return (
    <LoadedDefinition kind={COMPUTED_TRAITS} id={id}>
      {(trait) => <TraitBody trait={trait} />}
    </LoadedDefinition>
  );
}

function TraitBody({ trait }: { trait: ComputedTraitView }) {
  const [isEditing, setEditing] = useState(false);
  return (
    <DefinitionPage
      kind={COMPUTED_TRAITS}
      definition={trait}
      lead={traitInWords(trait)}
      actions={<TraitActions trait={trait} onEdit={() => setEditing(true)} />}
      deleteNote="Deletes the computed trait and its values. Destinations keep what they already received."
    >
      <div className="two-columns">
        <DefinitionCard trait={trait} />
        <ValuesCard trait={trait} />
      </div>
      <ValueCard trait={trait} />
      <TraitDialog open={isEditing} trait={trait} onClose={() => setEditing(false)} />
    </DefinitionPage>
  );
}

function TraitActions({ trait, onEdit }: { trait: ComputedTraitView; onEdit: () => void }) {
  const api = useApi();
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (enabled: boolean) => api.computedTraits.patch(trait.id, { enabled, version: trait.version }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["computed-traits"] }),
  });
  return (
    <>
      <Button icon="edit" onClick={onEdit}>
        Edit
      </Button>
      <Button
        icon={trait.enabled ? "pause" : "play"}
        busy={change.isPending}
        onClick={() => change.mutate(!trait.enabled)}
      >
        {trait.enabled ? "Disable" : "Enable"}
      </Button>
      {change.isError && <Failure error={change.error} />}
    </>
  );
}

function DefinitionCard({ trait }: { trait: ComputedTraitView }) {
  return (
    <Card title="Definition">
      <DefinitionFacts definition={trait}>
        <dt>Event</dt>
        <dd>{visibleText(trait.event, 200)}</dd>
        {trait.property !== undefined && (
          <>
            <dt>Property</dt>
            <dd className="mono">{visibleText(trait.property, 200)}</dd>
          </>
        )}
        <dt>Window</dt>
        <dd>{trait.withinMs === undefined ? "All time" : `Last ${duration(trait.withinMs)}`}</dd>
      </DefinitionFacts>
    </Card>
  );
}

/** How many users have a value, and which. */
function ValuesCard({ trait }: { trait: ComputedTraitView }) {
  const panelId = `${useId()}-why`;
  /** The user whose value is explained in its row; empty: nobody's. */
  const [explained, setExplained] = useState("");
  const api = useApi();
  const values = usePagedQuery({
    queryKey: ["computed-trait-values", trait.id, trait.version],
    read: (cursor) => api.computedTraits.values(trait.id, { limit: 10, cursor }),
    refetchInterval: 10_000,
  });
  const total = useTotal(trait).data?.size;
  const { leftOut } = trait.status;
  return (
    <Card title="Values" note="Users who have a value, longest-known users first">
      <QueryView query={values} skeleton={<Skeleton lines={4} />}>
        {(items) =>
          items.length === 0 && !values.hasNextPage ? (
            <p className="soft">{noValuesInWords(trait)}</p>
          ) : (
            <>
              <p className="preview-size number">{total === undefined ? "…" : count(total)}</p>
              {leftOut !== undefined && (
                <p className="soft">
                  The values of {counted(leftOut.users, "user")} are incomplete: a limit was reached and{" "}
                  {counted(leftOut.events, "event")} left out.
                </p>
              )}
              <ValueList
                values={items}
                action={(userId) => (
                  <Button
                    size="small"
                    look="quiet"
                    aria-expanded={userId === explained}
                    aria-controls={panelId}
                    onClick={() => setExplained(userId === explained ? "" : userId)}
                  >
                    Why?
                  </Button>
                )}
                panel={(userId) =>
                  userId === explained && (
                    <div id={panelId} className="row-panel">
                      <Value trait={trait} userId={userId} />
                    </div>
                  )
                }
              />
              <LoadMore query={values} />
            </>
          )
        }
      </QueryView>
    </Card>
  );
}

/** The number of users with a value. It evaluates every profile, so it is asked for less often than the list. */
function useTotal(trait: ComputedTraitView) {
  const api = useApi();
  const { kind, event, property, withinMs } = trait;
  return useQuery({
    queryKey: ["computed-trait-values", trait.id, trait.version, "size"],
    queryFn: ({ signal }) =>
      api.computedTraits.preview(
        {
          kind,
          event,
          ...(property === undefined ? {} : { property }),
          ...(withinMs === undefined ? {} : { withinMs }),
        },
        signal,
      ),
    refetchInterval: 30_000,
  });
}
