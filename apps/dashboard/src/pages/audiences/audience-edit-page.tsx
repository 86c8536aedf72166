import { type AudienceView, audienceKey, type Condition, validateCondition } from "@sluice/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { useLocation } from "wouter";
import { useApi } from "../../api/api-context.js";
import { useAudiences, useDestinations } from "../../api/queries.js";
import { DestinationChoice } from "../../forms/destination-choice.js";
import { DurationFields } from "../../forms/duration/duration-fields.js";
import { DraftConflict } from "../../forms/edit-conflict.js";
import { useDraft } from "../../forms/use-draft.js";
import { addresses } from "../../routing/addresses.js";
import { Button, ButtonLink } from "../../ui/controls/button.js";
import { Checkbox, TextField } from "../../ui/controls/field.js";
import { Card, Page } from "../../ui/layout/page.js";
import { ResourcePage } from "../../ui/layout/resource-page.js";
import { visibleText } from "../../words/visible-text.js";
import {
  conditionOf,
  draftOf,
  type GroupDraft,
  newEvent,
  newGroup,
  withNode,
} from "./conditions/condition-draft.js";
import { ConditionGroup } from "./conditions/condition-group.js";
import { LivePreview } from "./live-preview.js";
import { type SendingDraft, scheduleInWords, sendingDraftOf, syncOf } from "./sending-draft.js";

const UP = { href: addresses.audiences(), label: "Audiences" };

/** Makes an audience, or with an id changes one. */
export function AudienceEditPage({ id }: { id?: string }) {
  const api = useApi();
  const audience = useQuery({
    queryKey: ["audiences", id],
    queryFn: () => api.audiences.get(id ?? ""),
    enabled: id !== undefined,
    refetchInterval: 5_000,
  });
  if (id === undefined) {
    return (
      <Page
        title="New audience"
        lead="Users who meet conditions, kept up to date with every message."
        up={UP}
      >
        <AudienceForm />
      </Page>
    );
  }
  return (
    <ResourcePage kind="Audience" up={UP} query={audience}>
      {(found) => (
        <Page title={`Edit ${found.name}`} up={{ href: addresses.audience(id), label: found.name }}>
          <AudienceForm audience={found} />
        </Page>
      )}
    </ResourcePage>
  );
}

interface AudienceDraft {
  readonly name: string;
  readonly root: GroupDraft;
  readonly sending: SendingDraft;
}

/** What the form edits of an audience. */
const EDITED = {
  draftOf: (audience: AudienceView | undefined): AudienceDraft => ({
    name: audience?.name ?? "",
    root: audience === undefined ? newGroup([newEvent()]) : draftOf(audience.condition),
    sending: sendingDraftOf(audience),
  }),
  partsOf: ({ name, condition, destinationIds, sync, trackEvents, enabled }: AudienceView) => ({
    "the name": name,
    "the conditions": condition,
    "where and when it is sent": [destinationIds, sync, trackEvents],
    "whether it is enabled": enabled,
  }),
};

function AudienceForm({ audience }: { audience?: AudienceView }) {
  const api = useApi();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const eventListId = useId();
  const audiences = (useAudiences().data ?? []).filter((one) => one.id !== audience?.id);
  const events = useRecentEvents();
  const { draft, change, version, theirs, begin } = useDraft(audience, EDITED);
  const { name, root, sending } = draft;
  const [wasTried, setTried] = useState(false);
  const condition = conditionOf(root);
  const issues = validateCondition(condition);
  const save = useMutation({
    mutationFn: (upon: number | undefined) => {
      const { destinationIds, trackEvents, enabled } = sending;
      const sync = syncOf(sending);
      const input = { name: name.trim(), condition, destinationIds, sync, trackEvents, enabled };
      return audience === undefined
        ? api.audiences.create(input)
        : api.audiences.patch(audience.id, { ...input, ...(upon === undefined ? {} : { version: upon }) });
    },
    onSuccess: (saved) => navigate(addresses.audience(saved.id)),
    onSettled: () => queries.invalidateQueries({ queryKey: ["audiences"] }),
  });
  const saveIfComplete = () => {
    setTried(true);
    if (issues.length === 0) save.mutate(version);
  };
  const key = audience?.key ?? audienceKey(name);
  return (
    // Not a form: Enter chooses among the suggested events, and would save with half a name in the field.
    <div className="audience-form">
      <div className="stack">
        <Card>
          <TextField
            label="Name"
            placeholder="VIP customers"
            required
            value={name}
            hint={
              key === "" ? (
                "Destinations get a trait of this name, true or false."
              ) : (
                <>
                  Destinations get the trait <code>{key}</code>, true or false.
                  {audience !== undefined && " It keeps this name whatever the audience is called."}
                </>
              )
            }
            error={wasTried && name.trim() === "" ? "It needs a name." : undefined}
            onChange={(event) => change({ name: event.target.value })}
          />
        </Card>
        <Card title="Conditions" note="Windows end by themselves, to the millisecond">
          <ConditionGroup
            group={root}
            path="condition"
            depth={0}
            context={{
              audiences,
              eventListId,
              issues: wasTried ? issues : [],
              onChange: (node, part) => change({ root: withNode(root, node, part) }),
            }}
          />
          <datalist id={eventListId}>
            {events.map((event) => (
              <option key={event} value={event} />
            ))}
          </datalist>
          {wasTried && root.children.length === 0 && <p className="field-error">Add a condition.</p>}
        </Card>
        <SendingCard draft={sending} onChange={(part) => change({ sending: { ...sending, ...part } })} />
        <DraftConflict save={save} theirs={theirs} begin={begin} />
        <div className="row">
          <Button look="primary" busy={save.isPending} onClick={saveIfComplete}>
            {audience === undefined ? "Create audience" : "Save"}
          </Button>
          <ButtonLink
            look="quiet"
            href={audience === undefined ? addresses.audiences() : addresses.audience(audience.id)}
          >
            Cancel
          </ButtonLink>
        </div>
      </div>
      <div className="audience-preview">
        <LivePreview condition={issues.length === 0 ? (condition as Condition) : undefined} />
      </div>
    </div>
  );
}

function SendingCard({
  draft,
  onChange,
}: {
  draft: SendingDraft;
  onChange: (part: Partial<SendingDraft>) => void;
}) {
  const hasDestinations = (useDestinations().data ?? []).length > 0;
  return (
    <Card title="Sent to" note="Every member once at the beginning, then only changes">
      <div className="stack">
        <DestinationChoice
          hideLabel
          chosen={draft.destinationIds}
          onChange={(destinationIds) => onChange({ destinationIds })}
        />
        {hasDestinations && (
          <>
            <fieldset className="stack-tight">
              <legend className="field-label">When</legend>
              <div className="leaf-line">
                <span className="soft">The first time</span>
                <DurationFields
                  label="Wait before the first sending; empty: at once"
                  placeholder="0"
                  value={draft.initialDelay}
                  onChange={(initialDelay) => onChange({ initialDelay })}
                />
                <span className="soft">after it is made, then changes every</span>
                <DurationFields
                  label="Time between sendings; empty: every change at once"
                  placeholder="0"
                  value={draft.every}
                  onChange={(every) => onChange({ every })}
                />
              </div>
              <p className="field-hint">{scheduleInWords(syncOf(draft))}</p>
            </fieldset>
            <Checkbox
              label="Also send track events"
              hint="“Audience Entered” and “Audience Exited”, beside the identify message"
              checked={draft.trackEvents}
              onChange={(trackEvents) => onChange({ trackEvents })}
            />
          </>
        )}
        <Checkbox
          label="Enabled"
          hint="Off: nothing is sent, members are counted on. On again, what differs by then is sent"
          checked={draft.enabled}
          onChange={(enabled) => onChange({ enabled })}
        />
      </div>
    </Card>
  );
}

/** Names of track events that came lately: what one is likely to ask for. */
function useRecentEvents(): readonly string[] {
  const api = useApi();
  const { data } = useQuery({
    queryKey: ["recent-events"],
    queryFn: async () => {
      const { items } = await api.messages.list({ type: "track", limit: 200 });
      return [
        ...new Set(items.map(({ message }) => message.event).filter((name) => typeof name === "string")),
      ].sort();
    },
    staleTime: 60_000,
  });
  return (data ?? []).map((name) => visibleText(name, 100));
}
