import { type AudienceView, audienceKey, type Condition, validateCondition } from "@sluice/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { useApi } from "../../api/api-context.js";
import { useAudiences, useDestinations } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { useRouter } from "../../routing/router.js";
import { Button, ButtonLink } from "../../ui/button.js";
import { Failure } from "../../ui/failure.js";
import { Checkbox, SelectField, TextField } from "../../ui/field.js";
import { Card, Page } from "../../ui/page.js";
import { Skeleton } from "../../ui/skeleton.js";
import { visibleText } from "../../words/visible-text.js";
import { ConditionGroup } from "./condition-builder.js";
import { conditionOf, draftOf, type GroupDraft, newEvent, newGroup, withNode } from "./condition-draft.js";
import { LivePreview } from "./live-preview.js";
import { SYNC_CHOICES, syncOf } from "./sync-choices.js";

/** Makes an audience, or with an id changes one. */
export function AudienceEditPage({ id }: { id?: string }) {
  const api = useApi();
  const audience = useQuery({
    queryKey: ["audiences", id],
    queryFn: () => api.audiences.get(id ?? ""),
    enabled: id !== undefined,
  });
  const up = { href: addresses.audiences(), label: "Audiences" };
  if (id === undefined) {
    return (
      <Page
        title="New audience"
        lead="Users who meet conditions, kept up to date with every message."
        up={up}
      >
        <AudienceForm />
      </Page>
    );
  }
  return (
    <Page title={audience.data === undefined ? "Audience" : `Edit ${audience.data.name}`} up={up}>
      {audience.isError ? (
        <Failure error={audience.error} onRetry={() => void audience.refetch()} />
      ) : audience.isPending ? (
        <Card>
          <Skeleton />
        </Card>
      ) : (
        <AudienceForm key={audience.data.version} audience={audience.data} />
      )}
    </Page>
  );
}

function AudienceForm({ audience }: { audience?: AudienceView }) {
  const api = useApi();
  const queries = useQueryClient();
  const { navigate } = useRouter();
  const eventListId = useId();
  const audiences = (useAudiences().data ?? []).filter((one) => one.id !== audience?.id);
  const events = useRecentEvents();
  const [name, setName] = useState(audience?.name ?? "");
  const [root, setRoot] = useState<GroupDraft>(() =>
    audience === undefined ? newGroup([newEvent()]) : draftOf(audience.condition),
  );
  const [destinationIds, setDestinationIds] = useState<readonly string[]>(audience?.destinationIds ?? []);
  const [everyMs, setEveryMs] = useState(String(audience?.sync.everyMs ?? 0));
  const [trackEvents, setTrackEvents] = useState(audience?.trackEvents ?? false);
  const [wasTried, setTried] = useState(false);
  const condition = conditionOf(root);
  const issues = validateCondition(condition);
  const save = useMutation({
    mutationFn: () => {
      const input = {
        name: name.trim(),
        condition,
        destinationIds,
        sync: syncOf(everyMs, audience?.sync),
        trackEvents,
      };
      return audience === undefined
        ? api.audiences.create(input)
        : api.audiences.patch(audience.id, { ...input, version: audience.version });
    },
    onSuccess: async (saved) => {
      await queries.invalidateQueries({ queryKey: ["audiences"] });
      navigate(addresses.audience(saved.id));
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (issues.length === 0) save.mutate();
  };
  const key = audience?.key ?? audienceKey(name);
  return (
    <form className="audience-form" onSubmit={submit} noValidate>
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
            onChange={(event) => setName(event.target.value)}
          />
        </Card>
        <Card title="Conditions" note="Windows end by themselves, to the second">
          <ConditionGroup
            group={root}
            path="condition"
            depth={0}
            context={{
              audiences,
              eventListId,
              issues: wasTried ? issues : [],
              onChange: (node, change) => setRoot(withNode(root, node, change)),
            }}
          />
          <datalist id={eventListId}>
            {events.map((event) => (
              <option key={event} value={event} />
            ))}
          </datalist>
          {wasTried && root.children.length === 0 && <p className="field-error">Add a condition.</p>}
        </Card>
        <SendingCard
          destinationIds={destinationIds}
          everyMs={everyMs}
          trackEvents={trackEvents}
          onDestinations={setDestinationIds}
          onEvery={setEveryMs}
          onTrackEvents={setTrackEvents}
        />
        {save.isError && <Failure error={save.error} />}
        <div className="row">
          <Button look="primary" type="submit" busy={save.isPending}>
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
    </form>
  );
}

function SendingCard({
  destinationIds,
  everyMs,
  trackEvents,
  onDestinations,
  onEvery,
  onTrackEvents,
}: {
  destinationIds: readonly string[];
  everyMs: string;
  trackEvents: boolean;
  onDestinations: (ids: readonly string[]) => void;
  onEvery: (everyMs: string) => void;
  onTrackEvents: (trackEvents: boolean) => void;
}) {
  const destinations = useDestinations().data ?? [];
  return (
    <Card title="Sent to" note="Every member once at the beginning, then only changes">
      <div className="stack">
        {destinations.length === 0 ? (
          <p className="soft">
            There is no destination yet: members are counted and listed, nothing is sent.
          </p>
        ) : (
          <fieldset className="stack-tight">
            <legend className="visually-hidden">Destinations</legend>
            {destinations.map((one) => (
              <Checkbox
                key={one.id}
                label={one.name}
                checked={destinationIds.includes(one.id)}
                onChange={(isChosen) =>
                  onDestinations(
                    isChosen
                      ? [...destinationIds, one.id]
                      : destinationIds.filter((other) => other !== one.id),
                  )
                }
              />
            ))}
          </fieldset>
        )}
        <SelectField
          label="How often"
          value={everyMs}
          options={SYNC_CHOICES}
          onChange={(event) => onEvery(event.target.value)}
        />
        <Checkbox
          label="Also send track events"
          hint="“Audience Entered” and “Audience Exited”, beside the identify message"
          checked={trackEvents}
          onChange={onTrackEvents}
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
