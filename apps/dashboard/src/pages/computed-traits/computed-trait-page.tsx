import type { ComputedTraitView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/api-context.js";
import { Button } from "../../ui/controls/button.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Card } from "../../ui/layout/page.js";
import { duration } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";
import { DefinitionFacts } from "../definitions/definition-facts.js";
import { COMPUTED_TRAITS } from "../definitions/definition-kind.js";
import { DefinitionPage, LoadedDefinition } from "../definitions/definition-page.js";
import { TraitDialog } from "./trait-dialog.js";
import { traitInWords } from "./trait-words.js";
import { ValueCard } from "./value-card.js";
import { ValuesCard } from "./values-card.js";

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
