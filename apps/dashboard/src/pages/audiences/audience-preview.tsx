import type { AudiencePreview as PreviewResult } from "@sluice/control-api";
import type { Condition } from "@sluice/protocol";
import { Card } from "../../ui/layout/page.js";
import { count, counted, duration, percent } from "../../words/numbers.js";
import { idOf, PreviewBody, UserLink } from "../definitions/definition-parts.js";
import { usePreview } from "../definitions/use-save-definition.js";

/** The members that the conditions would have now. Undefined: the conditions are not complete. */
export function AudiencePreview({ condition }: { condition: Condition | undefined }) {
  const preview = usePreview("audience-preview", condition, (api, wanted, signal) =>
    api.audiences.preview(wanted, signal),
  );
  return (
    <Card title="Preview" note="All profiles, now">
      <div className="preview" aria-live="polite" aria-busy={preview.isFetching}>
        <PreviewBody
          isComplete={condition !== undefined}
          query={preview}
          incomplete="Complete the conditions to see the members."
        >
          {(result) => <Members result={result} />}
        </PreviewBody>
      </div>
    </Card>
  );
}

function Members({ result: { size, evaluated, tookMs, sample } }: { result: PreviewResult }) {
  return (
    <>
      <p className="preview-size number">{count(size)}</p>
      <p className="soft">
        {evaluated === 0
          ? "There are no profiles yet."
          : `${percent(size / evaluated)} of ${counted(evaluated, "profile")}, in ${duration(tookMs)}`}
      </p>
      {sample.length > 0 && (
        <>
          <h3 className="preview-title">Sample</h3>
          <ul className="preview-sample">
            {sample.map((member) => (
              <li key={idOf(member)} className="mono">
                <UserLink user={member} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
