import type { Explanation } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.js";
import { Badge } from "../../ui/data/badge.js";
import { Time } from "../../ui/data/time.js";
import { QueryView, Skeleton } from "../../ui/feedback.js";
import { Icon } from "../../ui/icon.js";
import { counted } from "../../words/numbers.js";
import { visibleValue } from "../../words/visible-text.js";
import { UserLink, WhyCard } from "../definitions/definition-parts.js";
import { childrenOf, conditionInWords } from "./conditions/condition-words.js";

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
