import { Link } from "wouter";
import { useDestinations, useTransformations } from "../api/queries.js";
import { addresses } from "../routing/addresses.js";
import { Checkbox, SelectField } from "../ui/controls/field.js";
import { visibleText } from "../words/messages.js";

/** Selects the destinations of a definition. */
export function DestinationChoice({
  chosen,
  hideLabel = false,
  onChange,
}: {
  chosen: readonly string[];
  hideLabel?: boolean;
  onChange: (ids: readonly string[]) => void;
}) {
  const destinations = useDestinations().data ?? [];
  if (destinations.length === 0) {
    return <p className="soft">No destinations yet. You see the result here, but nothing is sent.</p>;
  }
  return (
    <fieldset className="stack-tight choices">
      <legend className={hideLabel ? "visually-hidden" : "field-label"}>Destinations</legend>
      {destinations.map((one) => (
        <Checkbox
          key={one.id}
          label={
            <>
              {one.name} {!one.enabled && <span className="small faint">Disabled</span>}
            </>
          }
          checked={chosen.includes(one.id)}
          onChange={(isChosen) =>
            onChange(isChosen ? [...chosen, one.id] : chosen.filter((other) => other !== one.id))
          }
        />
      ))}
    </fieldset>
  );
}

/** Selects the transformation of a destination or a source. Empty: none. */
export function TransformationChoice({
  chosen,
  of,
  error,
  onChange,
}: {
  chosen: string;
  of: "destination" | "source";
  error?: string | undefined;
  onChange: (id: string) => void;
}) {
  const transformations = useTransformations().data ?? [];
  return (
    <SelectField
      label="Transformation"
      hint={
        <>
          {of === "source"
            ? "Runs before messages of this source are delivered anywhere."
            : "Runs after the filters, before a message is delivered."}{" "}
          {chosen === "" ? (
            <Link href={addresses.transformations()}>All transformations</Link>
          ) : (
            <Link href={addresses.transformation(chosen)}>Open it</Link>
          )}
        </>
      }
      error={error}
      options={[["", "None"], ...transformations.map(({ id, name }) => [id, visibleText(name, 80)] as const)]}
      value={chosen}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}
