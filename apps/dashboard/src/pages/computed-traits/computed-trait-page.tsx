import type { ComputedTraitView } from "@sluice/protocol";
import { formatFilter } from "@sluice/protocol";
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/api-context.js";
import { useNames } from "../../api/queries.js";
import { UserQuestion } from "../../forms/user-question.js";
import { addresses } from "../../routing/addresses.js";
import { Link } from "../../routing/link.js";
import { Button, ButtonLink } from "../../ui/button.js";
import { Failure } from "../../ui/failure.js";
import { Card, Page } from "../../ui/page.js";
import { RemovalCard } from "../../ui/removal-card.js";
import { Skeleton } from "../../ui/skeleton.js";
import { Table } from "../../ui/table.js";
import { ThingPage } from "../../ui/thing-page.js";
import { Time } from "../../ui/time.js";
import { count, duration } from "../../words/numbers.js";
import { visibleText, visibleValue } from "../../words/visible-text.js";
import { SyncBadge, SyncProgress } from "../audiences/sync-status.js";
import { propertyAt } from "./property-at.js";
import { TraitDialog } from "./trait-dialog.js";
import { ValueList } from "./trait-preview.js";
import { nobodyInWords, traitInWords } from "./trait-words.js";

const UP = { href: addresses.computedTraits(), label: "Computed traits" };
/** Events that are listed as the reason of a value. */
const SHOWN_EVENTS = 20;

export function ComputedTraitPage({ id }: { id: string }) {
  const api = useApi();
  const trait = useQuery({
    queryKey: ["computed-traits", id],
    queryFn: () => api.computedTraits.get(id),
    refetchInterval: 2_000,
  });
  return (
    <ThingPage kind="Computed trait" up={UP} query={trait}>
      {(found) => <TraitBody trait={found} />}
    </ThingPage>
  );
}

function TraitBody({ trait }: { trait: ComputedTraitView }) {
  const api = useApi();
  const [isEditing, setEditing] = useState(false);
  const [whyUser, setWhyUser] = useState("");
  return (
    <Page
      title={trait.name}
      up={UP}
      lead={traitInWords(trait)}
      badge={<SyncBadge status={trait.status} />}
      actions={<TraitActions trait={trait} onEdit={() => setEditing(true)} />}
    >
      <SyncProgress status={trait.status} />
      <div className="two-columns">
        <Facts trait={trait} />
        <ValuesCard trait={trait} onWhy={setWhyUser} />
      </div>
      <WhyValueCard key={whyUser} trait={trait} userId={whyUser} />
      <RemovalCard
        text="It is worked out no more. What destinations were told stays with them."
        name={trait.name}
        action="Delete computed trait"
        remove={() => api.computedTraits.delete(trait.id)}
        resource="computed-traits"
        then={addresses.computedTraits()}
      />
      <TraitDialog open={isEditing} trait={trait} onClose={() => setEditing(false)} />
    </Page>
  );
}

function TraitActions({ trait, onEdit }: { trait: ComputedTraitView; onEdit: () => void }) {
  const api = useApi();
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (enabled: boolean) => api.computedTraits.patch(trait.id, { enabled, version: trait.version }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["computed-traits"] }),
  });
  return (
    <>
      <Button icon="edit" onClick={onEdit}>
        Edit
      </Button>
      <Button
        icon={trait.enabled ? "pause" : "play"}
        busy={change.isPending}
        onClick={() => change.mutate(!trait.enabled)}
      >
        {trait.enabled ? "Disable" : "Enable"}
      </Button>
      {change.isError && <Failure error={change.error} />}
    </>
  );
}

function Facts({ trait }: { trait: ComputedTraitView }) {
  const names = useNames();
  return (
    <Card title="Definition">
      <dl className="facts">
        <dt>Trait</dt>
        <dd>
          <code>{trait.key}</code>
        </dd>
        <dt>Event</dt>
        <dd>{visibleText(trait.event, 200)}</dd>
        {trait.property !== undefined && (
          <>
            <dt>Property</dt>
            <dd className="mono">{visibleText(trait.property, 200)}</dd>
          </>
        )}
        <dt>Window</dt>
        <dd>{trait.withinMs === undefined ? "Ever" : `The last ${duration(trait.withinMs)}`}</dd>
        <dt>Sent to</dt>
        <dd>
          {trait.destinationIds.length === 0
            ? "Nowhere"
            : trait.destinationIds.map((id) => (
                <Link key={id} className="list-link" href={addresses.destination(id)}>
                  {names.destination(id)}
                </Link>
              ))}
        </dd>
        <dt>Made</dt>
        <dd>
          <Time at={trait.createdAt} />
        </dd>
      </dl>
    </Card>
  );
}

/** How many have a value, and who. */
function ValuesCard({ trait, onWhy }: { trait: ComputedTraitView; onWhy: (userId: string) => void }) {
  const api = useApi();
  const values = useInfiniteQuery({
    queryKey: ["computed-trait-values", trait.id, trait.version],
    queryFn: ({ pageParam }) => api.computedTraits.values(trait.id, { limit: 10, cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: 10_000,
  });
  const { kind, event, property, withinMs } = trait;
  // Counting looks at every profile.
  const total = useQuery({
    queryKey: ["computed-trait-values", trait.id, trait.version, "size"],
    queryFn: ({ signal }) =>
      api.computedTraits.preview(
        {
          kind,
          event,
          ...(property === undefined ? {} : { property }),
          ...(withinMs === undefined ? {} : { withinMs }),
        },
        signal,
      ),
    refetchInterval: 30_000,
  });
  const items = values.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Card title="Values" note="Users who have one now, by how long they are known">
      {values.isError ? (
        <Failure error={values.error} />
      ) : values.isPending ? (
        <Skeleton lines={4} />
      ) : items.length === 0 && !values.hasNextPage ? (
        <p className="soft">{nobodyInWords(trait)}</p>
      ) : (
        <>
          <p className="preview-size number">{total.data === undefined ? "…" : count(total.data.size)}</p>
          <ValueList
            values={items}
            onUser={(userId) => (
              <Button size="small" look="quiet" onClick={() => onWhy(userId)}>
                Why?
              </Button>
            )}
          />
          {values.hasNextPage && (
            <Button size="small" busy={values.isFetchingNextPage} onClick={() => void values.fetchNextPage()}>
              Show more
            </Button>
          )}
        </>
      )}
    </Card>
  );
}

/** Why a user's value is what it is: the events that it is made of. */
function WhyValueCard({ trait, userId }: { trait: ComputedTraitView; userId: string }) {
  const [asked, setAsked] = useState(userId);
  return (
    <Card title="Why is it what it is?" note="A user's value, and the events that it is made of">
      <div className="stack">
        <UserQuestion userId={userId} onAsk={setAsked} />
        {asked !== "" && <WhyValue trait={trait} userId={asked} />}
      </div>
    </Card>
  );
}

function WhyValue({ trait, userId }: { trait: ComputedTraitView; userId: string }) {
  const api = useApi();
  const why = useQuery({
    queryKey: ["computed-trait-why", trait.id, trait.version, userId],
    queryFn: async () => {
      const [profile, page] = await Promise.all([
        api.profiles.get(userId),
        api.messages.list({ userId, type: "track", event: trait.event, limit: SHOWN_EVENTS }),
      ]);
      return {
        value: profile.computedTraits[trait.key],
        events: page.items,
        hasMore: page.nextCursor !== undefined,
      };
    },
    refetchInterval: 5_000,
    retry: false,
  });
  if (why.isError) return <Failure error={why.error} />;
  if (why.isPending) return <Skeleton lines={3} />;
  const { value, events, hasMore } = why.data;
  const ofThese = formatFilter({
    terms: [
      { kind: "field", field: "user", negated: false, isPrefix: false, value: userId },
      { kind: "field", field: "event", negated: false, isPrefix: false, value: trait.event },
    ],
  });
  return (
    <div className="stack-tight">
      <p className="row">
        <Link className="mono" href={addresses.profile(userId)}>
          {visibleText(userId, 80)}
        </Link>
        <strong className="number">{value === undefined ? "has no value" : visibleValue(value, 300)}</strong>
      </p>
      {events.length === 0 ? (
        <p className="soft">No event of theirs is stored any more, or there never was one.</p>
      ) : (
        <Table
          label="Events of the user, newest first"
          items={events}
          keyOf={(one) => `${one.sourceId} ${one.messageId}`}
          columns={[
            {
              head: "Message",
              lead: true,
              cell: (one) => (
                <Link className="strong-link mono" href={addresses.message(one.messageId, one.sourceId)}>
                  {visibleText(one.messageId, 40)}
                </Link>
              ),
            },
            {
              head: trait.kind === "count" ? "Counts" : (trait.property ?? "Value"),
              align: "end",
              cell: ({ message, receivedAt }) => <Part trait={trait} message={message} at={receivedAt} />,
            },
            {
              head: "When",
              align: "end",
              cell: (one) => <Time at={String(one.message.timestamp ?? one.receivedAt)} />,
            },
          ]}
        />
      )}
      {hasMore && (
        <div>
          <ButtonLink size="small" href={addresses.live(ofThese)}>
            All of their events
          </ButtonLink>
        </div>
      )}
    </div>
  );
}

/** What an event has of what the trait is made of. */
function Part({
  trait: { kind, property, withinMs },
  message,
  at,
}: {
  trait: ComputedTraitView;
  message: { readonly [field: string]: unknown };
  at: string;
}) {
  if (withinMs !== undefined && Date.parse(String(message.timestamp ?? at)) <= Date.now() - withinMs)
    return <span className="faint">before the window</span>;
  if (kind === "count") return "1";
  const value = propertyAt(message.properties, property ?? "");
  return value === undefined ? <span className="faint">has none</span> : visibleValue(value, 80);
}
