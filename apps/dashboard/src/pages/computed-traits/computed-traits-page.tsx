import { useState } from "react";
import { useComputedTraits } from "../../api/queries.js";
import { Button } from "../../ui/controls/button.js";
import { COMPUTED_TRAITS } from "../definitions/definition-kind.js";
import { DefinitionList } from "../definitions/definition-list.js";
import { TraitDialog } from "./trait-dialog.js";
import { traitInWords } from "./trait-draft.js";

export function ComputedTraitsPage() {
  const [isAdding, setAdding] = useState(false);
  return (
    <>
      <DefinitionList
        kind={COMPUTED_TRAITS}
        lead="Values computed from each user's events. Destinations get every change as a trait."
        query={useComputedTraits()}
        add={(look) => (
          <Button look={look} icon="plus" onClick={() => setAdding(true)}>
            New computed trait
          </Button>
        )}
        example="For example: the sum of “total” over “Order Completed” as the trait lifetime_value."
        column={{ head: "Value", cell: traitInWords }}
      />
      <TraitDialog open={isAdding} onClose={() => setAdding(false)} />
    </>
  );
}
