import type { AudienceSizesView, Explanation, SizeSpan } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useApi, useAudienceSizes } from "../../api/queries.js";
import { useShownTheme } from "../../theme/theme.js";
import { Segments } from "../../ui/controls/button.js";
import { Chart } from "../../ui/data/chart/chart.js";
import { Badge, Time } from "../../ui/data/facts.js";
import { Failure, QueryView, Skeleton } from "../../ui/feedback.js";
import { Icon } from "../../ui/icon.js";
import { Card } from "../../ui/layout/page.js";
import { visibleValue } from "../../words/messages.js";
import { count, counted } from "../../words/numbers.js";
import { clockTime, dateOf } from "../../words/times.js";
import { UserLink, WhyCard } from "../definitions/definition-parts.js";
import { withGaps } from "../rates.js";
import { childrenOf, conditionInWords } from "./conditions/condition-draft.js";

const SPANS: Readonly<
  Record<SizeSpan, { readonly label: string; readonly ms: number; readonly every: string }>
> = {
  week: { label: "7 days", ms: 7 * 86_400_000, every: "hour" },
  year: { label: "1 year", ms: 365 * 86_400_000, every: "day" },
};

/** While the points are loaded, an empty chart takes their place. */
const NONE: AudienceSizesView = { everyMs: 0, points: [] };

/** How many members the audience had over the last week or year, and how many it has now. */
export function SizesCard({ id, size }: { id: string; size: number | undefined }) {
  const [span, setSpan] = useState<SizeSpan>("week");
  const { data, error, isError, refetch } = useAudienceSizes(id, span);
  return (
    <Card
      title="Size over time"
      note={`Members, one point per ${SPANS[span].every}`}
      actions={
        <Segments
          label="Time span"
          value={span}
          options={Object.entries(SPANS).map(([value, one]) => [value as SizeSpan, one.label] as const)}
          onChange={setSpan}
        />
      }
    >
      {isError && data === undefined && <Failure error={error} onRetry={() => void refetch()} />}
      {data?.points.length === 0 ? (
        <p className="soft chart-160">
          There is no point for this time. The first one is stored within a minute after the collector has
          evaluated everybody.
        </p>
      ) : (
        <SizesChart sizes={withNow(data ?? NONE, size)} span={span} />
      )}
    </Card>
  );
}

function withNow(sizes: AudienceSizesView, size: number | undefined): AudienceSizesView {
  if (size === undefined || sizes.points.length === 0) return sizes;
  return { ...sizes, points: [...sizes.points, { at: new Date().toISOString(), size }] };
}

function SizesChart({ sizes: { points, everyMs }, span }: { sizes: AudienceSizesView; span: SizeSpan }) {
  const themeKey = useShownTheme();
  // Each hour or day has its point at any time in it, so two that follow each other are less than two of these apart.
  const samples = withGaps(points.map((point) => ({ ...point, overMs: 2 * everyMs })));
  return (
    <Chart
      label={`Members over ${SPANS[span].label}: ${inWords(points)}`}
      timesMs={samples.map(({ atMs }) => atMs)}
      spanMs={SPANS[span].ms}
      series={[
        {
          label: "Members",
          color: "--accent",
          values: samples.map(({ point }) => point?.size ?? null),
          fill: true,
        },
      ]}
      format={count}
      themeKey={themeKey}
    />
  );
}

/** The last value and the range, for screen readers. */
function inWords(points: AudienceSizesView["points"]): string {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return "unknown";
  const sizes = points.map(({ size }) => size);
  const lastMs = Date.parse(last.at);
  return [
    `${counted(last.size, "member")} on ${dateOf(lastMs)} at ${clockTime(lastMs, "min")}`,
    `between ${count(Math.min(...sizes))} and ${count(Math.max(...sizes))} since ${dateOf(Date.parse(first.at))}`,
  ].join(", ");
}

/** Asks for a user and explains why it is a member or not. */
export function MembershipCard({
  audienceId,
  nameOf,
}: {
  audienceId: string;
  nameOf: (id: string) => string;
}) {
  return (
    <WhyCard title="Explain membership" note="For any user, member or not" userId="">
      {(asked) => <Membership audienceId={audienceId} userId={asked} nameOf={nameOf} />}
    </WhyCard>
  );
}

/** Why a user is a member or not: each condition and the profile's value. */
export function Membership({
  audienceId,
  userId,
  nameOf,
}: {
  audienceId: string;
  userId: string;
  nameOf: (id: string) => string;
}) {
  const api = useApi();
  const why = useQuery({
    queryKey: ["audience-why", audienceId, userId],
    queryFn: () => api.audiences.why(audienceId, userId),
    refetchInterval: 2_000,
    retry: false,
  });
  return (
    <QueryView query={why} skeleton={<Skeleton lines={3} />}>
      {({ userId: found, member, since, explanation }) => (
        <div className="stack-tight">
          <p className="row">
            <UserLink user={{ userId: found }} />
            <Badge tone={member ? "good" : "quiet"}>{member ? "Member" : "Not a member"}</Badge>
            {since && (
              <span className="small faint">
                since <Time at={since} />
              </span>
            )}
          </p>
          <ExplanationNode node={explanation} nameOf={nameOf} />
        </div>
      )}
    </QueryView>
  );
}

function ExplanationNode({ node, nameOf }: { node: Explanation; nameOf: (id: string) => string }) {
  const children = childrenOf(node);
  return (
    <div className="why">
      <p className={node.holds ? "why-line why-holds" : "why-line why-not"}>
        <Icon name={node.holds ? "check" : "close"} size={14} />
        <span>
          <span className="visually-hidden">{node.holds ? "True: " : "False: "}</span>
          {conditionInWords(node, nameOf)}
          <ActualValue node={node} />
        </span>
      </p>
      {children.length > 0 && (
        <ul>
          {children.map((child, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: conditions have no id, only a position
            <li key={index}>
              <ExplanationNode node={child} nameOf={nameOf} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function ActualValue({ node }: { node: Explanation }) {
  if (node.kind === "trait") {
    return (
      <span className="why-seen">
        {node.seen === undefined ? "not set" : `actual value: ${visibleValue(node.seen, 200)}`}
      </span>
    );
  }
  if (node.kind !== "event") return null;
  return (
    <span className="why-seen">
      {node.seen === 0 ? "never seen" : `seen ${counted(node.seen, "time")}${node.orMore ? " or more" : ""}`}
      {node.lastAt && (
        <>
          , last <Time at={node.lastAt} />
        </>
      )}
      {node.changesAt && (
        <>
          ; one event leaves the window <Time at={node.changesAt} />
        </>
      )}
    </span>
  );
}
