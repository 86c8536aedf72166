import { useDestinations } from "../api/queries.js";
import { Checkbox } from "../ui/controls/field.js";

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
