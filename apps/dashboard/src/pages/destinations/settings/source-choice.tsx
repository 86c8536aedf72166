import type { SourceKindView, SourceView } from "@sluice/control-api";
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
  if (fitting.length === 0) {
    return (
      <p className="soft">
        No source of a supported kind yet. <Link href={addresses.sources()}>Create one</Link>, then connect it
        here.
      </p>
    );
  }
  return (
    <fieldset className="stack-tight">
      <legend className="field-label">Sources</legend>
      {fitting.map((source) => (
        <Checkbox
          key={source.id}
          label={source.name}
          hint={SOURCE_KINDS[source.kind].label}
          checked={chosen.includes(source.id)}
          onChange={(isChosen) =>
            onChange(isChosen ? [...chosen, source.id] : chosen.filter((id) => id !== source.id))
          }
        />
      ))}
    </fieldset>
  );
}
