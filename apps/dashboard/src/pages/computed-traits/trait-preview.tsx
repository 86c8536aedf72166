import type { ComputedTraitDefinition } from "@sluice/control-api";
import { count, counted, duration } from "../../words/numbers.js";
import { PreviewBody } from "../definitions/preview-body.js";
import { usePreview } from "../definitions/use-preview.js";
import { isComplete } from "./trait-draft.js";
import { ValueList } from "./value-list.js";

/** The values that the definition would give some users now. */
export function TraitPreview({ definition }: { definition: ComputedTraitDefinition }) {
  const input = isComplete(definition) ? definition : undefined;
  const preview = usePreview("trait-preview", input, (api, wanted, signal) =>
    api.computedTraits.preview(wanted, signal),
  );
  return (
    <section className="trait-preview" aria-label="Preview" aria-live="polite" aria-busy={preview.isFetching}>
      <PreviewBody
        isComplete={input !== undefined}
        query={preview}
        incomplete="Complete the definition to see a preview."
      >
        {({ size, evaluated, tookMs, sample }) => (
          <>
            <p>
              <strong className="number">{count(size)}</strong>{" "}
              <span className="soft">
                of {counted(evaluated, "profile")} would have a value now, counted in {duration(tookMs)}
              </span>
            </p>
            <ValueList values={sample} />
          </>
        )}
      </PreviewBody>
    </section>
  );
}
