import type { DestinationView } from "@sluice/control-api";
import { MESSAGE_KINDS } from "@sluice/protocol";
import { SelectField, TextField } from "../../../ui/controls/field.js";
import { STATE_ORDER, STATES } from "../../../words/states.js";
import type { ReplayDraft } from "./replay-draft.js";

const KINDS = [...MESSAGE_KINDS, "delete"];

const TEXTS = [
  ["event", "Event"],
  ["userId", "User id"],
  ["messageId", "Message id"],
] as const;

const TIMES = [
  ["from", "From"],
  ["to", "Before"],
] as const;

/** Which messages to replay, to which destination. */
export function ReplayFields({
  draft,
  destinations,
  change,
}: {
  draft: ReplayDraft;
  destinations: readonly DestinationView[];
  change: (part: Partial<ReplayDraft>) => void;
}) {
  return (
    <>
      <SelectField
        label="Destination"
        value={draft.destinationId}
        options={destinations.map((one) => [one.id, one.name])}
        onChange={(event) => change({ destinationId: event.target.value })}
      />
      <SelectField
        label="State"
        value={draft.state}
        options={[
          ["", "Any state, including delivered"],
          ...STATE_ORDER.filter((state) => state !== "pending").map(
            (state) => [state, STATES[state].label] as const,
          ),
        ]}
        onChange={(event) => change({ state: event.target.value as ReplayDraft["state"] })}
      />
      <div className="field-grid">
        <SelectField
          label="Kind"
          value={draft.type}
          options={[["", "All kinds"], ...KINDS.map((kind) => [kind, kind] as const)]}
          onChange={(event) => change({ type: event.target.value })}
        />
        {TEXTS.map(([name, label]) => (
          <TextField
            key={name}
            label={label}
            optional
            value={draft[name]}
            onChange={(event) => change({ [name]: event.target.value })}
          />
        ))}
        {TIMES.map(([name, label]) => (
          <TextField
            key={name}
            label={label}
            optional
            type="datetime-local"
            value={draft[name]}
            onChange={(event) => change({ [name]: event.target.value })}
          />
        ))}
      </div>
    </>
  );
}
