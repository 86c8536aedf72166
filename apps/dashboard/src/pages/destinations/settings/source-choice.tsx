import type { SourceKindView, SourceView } from "@sluice/control-api";
import { INCIDENT_SOURCE_ID } from "@sluice/protocol";
import { Link } from "wouter";
import { addresses } from "../../../routing/addresses.js";
import { Checkbox } from "../../../ui/controls/field.js";
import { SOURCE_KINDS } from "../../sources/source-kinds.js";

/** The sources that a destination gets messages from. */
export function SourceChoice({
  sources,
  kinds,
  chosen,
  onChange,
}: {
  sources: readonly SourceView[];
  /** The kinds of source that this destination type supports. */
  kinds: readonly SourceKindView[];
  chosen: readonly string[];
  onChange: (ids: readonly string[]) => void;
}) {
  const fitting = sources.filter((source) => kinds.includes(source.kind));
  const choices = [
    ...fitting.map(({ id, name, kind }) => ({ id, name, hint: SOURCE_KINDS[kind].label })),
    { id: INCIDENT_SOURCE_ID, name: INCIDENT_SOURCE_ID, hint: "Built in: incidents of this collector" },
  ];
  return (
    <fieldset className="stack-tight choices">
      <legend className="field-label">Sources</legend>
      {fitting.length === 0 && (
        <p className="soft">
          No source of a supported kind yet. <Link href={addresses.sources()}>Create one</Link>, then connect
          it here.
        </p>
      )}
      {choices.map(({ id, name, hint }) => (
        <Checkbox
          key={id}
          label={
            <>
              {name} <span className="small faint">{hint}</span>
            </>
          }
          checked={chosen.includes(id)}
          onChange={(isChosen) => onChange(isChosen ? [...chosen, id] : chosen.filter((one) => one !== id))}
        />
      ))}
    </fieldset>
  );
}
