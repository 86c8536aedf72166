import type { ComputedTraitView, UserValueView, ValuePart, ValueWhyView } from "@sluice/control-api";
import { formatFilter } from "@sluice/protocol";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { Time } from "../../ui/data/facts.js";
import { Table } from "../../ui/data/table.js";
import { QueryView, Skeleton } from "../../ui/feedback.js";
import { visibleText, visibleValue } from "../../words/messages.js";
import { counted } from "../../words/numbers.js";
import { idOf, UserLink, WhyCard } from "../definitions/definition-parts.js";

/** Users with their values. */
export function ValueList({
  values,
  action,
  panel,
}: {
  values: readonly UserValueView[];
  action?: (userId: string) => ReactNode;
  /** Shown below a user's value. */
  panel?: (userId: string) => ReactNode;
}) {
  return (
    <ul className="value-list">
      {values.map((one) => (
        <li key={`${one.userId === undefined} ${idOf(one)}`}>
          <UserLink user={one} className="mono grow" />
          <span className="number">{visibleValue(one.value, 120)}</span>
          {action?.(idOf(one))}
          {panel?.(idOf(one))}
        </li>
      ))}
    </ul>
  );
}

/** Asks for a user and explains its value: the number of events, the window, and the events themselves. */
export function ValueCard({ trait }: { trait: ComputedTraitView }) {
  return (
    <WhyCard title="Explain a value" note="Shows the events behind any user's value" userId="">
      {(asked) => <Value trait={trait} userId={asked} />}
    </WhyCard>
  );
}

/** A user's value and the events behind it. */
export function Value({ trait, userId }: { trait: ComputedTraitView; userId: string }) {
  const api = useApi();
  const why = useQuery({
    queryKey: ["computed-trait-why", trait.id, trait.version, userId],
    queryFn: () => api.computedTraits.why(trait.id, userId),
    refetchInterval: 5_000,
    retry: false,
  });
  return (
    <QueryView query={why} skeleton={<Skeleton lines={3} />}>
      {(found) => <ValueExplained trait={trait} userId={userId} why={found} />}
    </QueryView>
  );
}

function ValueExplained({
  trait,
  userId,
  why,
}: {
  trait: ComputedTraitView;
  userId: string;
  why: ValueWhyView;
}) {
  const { value, events, madeOf, leftOut } = why;
  const theirEvents = formatFilter({
    terms: [
      { kind: "field", field: "user", negated: false, isPrefix: false, value: userId },
      { kind: "field", field: "event", negated: false, isPrefix: false, value: trait.event },
    ],
  });
  return (
    <div className="stack-tight">
      <p className="row">
        <UserLink user={{ userId }} />
        <strong className="number">{value === undefined ? "no value" : visibleValue(value, 300)}</strong>
        <span className="small faint">
          from {counted(events, "event")}
          <Window why={why} />
        </span>
      </p>
      {leftOut !== undefined && (
        <p className="soft">{counted(leftOut, "event")} left out because a limit was reached.</p>
      )}
      {madeOf.length > 0 && <PartTable trait={trait} parts={madeOf} />}
      <div>
        <ButtonLink size="small" href={addresses.live(theirEvents)}>
          All events of this user
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
          ; one event leaves the window <Time at={changesAt} />
        </>
      )}
    </>
  );
}

function PartTable({ trait, parts }: { trait: ComputedTraitView; parts: readonly ValuePart[] }) {
  const hasTimes = parts.some(({ times }) => times !== undefined);
  return (
    <Table
      label="Events that make up the value"
      items={parts}
      keyOf={({ sourceId, messageId, at, value }) => `${sourceId} ${messageId} ${at} ${visibleValue(value)}`}
      columns={[
        { head: hasTimes ? "First message" : "Message", lead: true, cell: PartMessage },
        {
          head: trait.kind === "count" ? "Count" : (trait.property ?? "Value"),
          align: "end",
          cell: ({ value }) => visibleValue(value, 80),
        },
        ...(hasTimes
          ? [{ head: "Times", align: "end" as const, cell: ({ times }: ValuePart) => times ?? 1 }]
          : []),
        { head: "Time", align: "end", cell: ({ at }) => <Time at={at} /> },
      ]}
    />
  );
}

function PartMessage({ messageId, sourceId }: ValuePart) {
  if (messageId === undefined) return <span className="faint">no longer stored</span>;
  return (
    <Link className="strong-link mono" href={addresses.message(messageId, sourceId)}>
      {visibleText(messageId, 40)}
    </Link>
  );
}
