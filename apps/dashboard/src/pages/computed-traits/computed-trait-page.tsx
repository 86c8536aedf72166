import type { ComputedTraitView, ValuePart, ValueWhyView } from "@sluice/protocol";
import { formatFilter } from "@sluice/protocol";
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/api-context.js";
import { useNames } from "../../api/queries.js";
import { UserQuestion } from "../../forms/user-question.js";
import { addresses } from "../../routing/addresses.js";
import { Button, ButtonLink } from "../../ui/controls/button.js";
import { Table } from "../../ui/data/table.js";
import { Time } from "../../ui/data/time.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { DeleteCard } from "../../ui/layout/delete-card.js";
import { Card, Page } from "../../ui/layout/page.js";
import { ResourcePage } from "../../ui/layout/resource-page.js";
import { count, counted, duration } from "../../words/numbers.js";
import { visibleText, visibleValue } from "../../words/visible-text.js";
import { SyncBadge, SyncProgress } from "../definitions/sync-status.js";
import { TraitDialog } from "./trait-dialog.js";
import { ValueList } from "./trait-preview.js";
import { nobodyInWords, traitInWords } from "./trait-words.js";

const UP = { href: addresses.computedTraits(), label: "Computed traits" };

export function ComputedTraitPage({ id }: { id: string }) {
  const api = useApi();
  const trait = useQuery({
    queryKey: ["computed-traits", id],
    queryFn: () => api.computedTraits.get(id),
    refetchInterval: 2_000,
  });
  return (
    <ResourcePage kind="Computed trait" up={UP} query={trait}>
      {(found) => <TraitBody trait={found} />}
    </ResourcePage>
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
      <DeleteCard
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
          {trait.status.leftOut !== undefined && (
            <p className="soft">
              Limits cut the values of {counted(trait.status.leftOut.users, "user")}:{" "}
              {counted(trait.status.leftOut.events, "event")} left out.
            </p>
          )}
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

/** Why a user's value is what it is: of how many events, in which window, and which they are. */
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
    queryFn: () => api.computedTraits.why(trait.id, userId),
    refetchInterval: 5_000,
    retry: false,
  });
  if (why.isError) return <Failure error={why.error} />;
  if (why.isPending) return <Skeleton lines={3} />;
  const { value, events, madeOf } = why.data;
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
        <span className="small faint">
          made of {counted(events, "event")}
          <Window why={why.data} />
        </span>
      </p>
      {why.data.leftOut !== undefined && (
        <p className="soft">{counted(why.data.leftOut, "event")} left out, because a limit was reached.</p>
      )}
      {madeOf.length > 0 && <Parts trait={trait} parts={madeOf} />}
      <div>
        <ButtonLink size="small" href={addresses.live(ofThese)}>
          All of their events
        </ButtonLink>
      </div>
    </div>
  );
}

function Window({ why: { windowFrom, changesAt } }: { why: ValueWhyView }) {
  return (
    <>
      {windowFrom !== undefined && (
        <>
          {" "}
          since <Time at={windowFrom} />
        </>
      )}
      {changesAt !== undefined && (
        <>
          ; one leaves the window <Time at={changesAt} />
        </>
      )}
    </>
  );
}

function Parts({ trait, parts }: { trait: ComputedTraitView; parts: readonly ValuePart[] }) {
  const hasTimes = parts.some(({ times }) => times !== undefined);
  return (
    <Table
      label="What the value is made of"
      items={parts}
      keyOf={({ sourceId, messageId, at, value }) => `${sourceId} ${messageId} ${at} ${visibleValue(value)}`}
      columns={[
        {
          head: hasTimes ? "First seen in" : "Message",
          lead: true,
          cell: ({ messageId, sourceId }) =>
            messageId === undefined ? (
              <span className="faint">not stored any more</span>
            ) : (
              <Link className="strong-link mono" href={addresses.message(messageId, sourceId)}>
                {visibleText(messageId, 40)}
              </Link>
            ),
        },
        {
          head: trait.kind === "count" ? "Counts" : (trait.property ?? "Value"),
          align: "end",
          cell: ({ value }) => visibleValue(value, 80),
        },
        ...(hasTimes
          ? [{ head: "Times", align: "end" as const, cell: ({ times }: ValuePart) => times ?? 1 }]
          : []),
        { head: "When", align: "end", cell: ({ at }) => <Time at={at} /> },
      ]}
    />
  );
}
