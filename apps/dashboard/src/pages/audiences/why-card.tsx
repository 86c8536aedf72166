import type { Explanation } from "@sluice/protocol";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/api-context.js";
import { UserQuestion } from "../../forms/user-question.js";
import { addresses } from "../../routing/addresses.js";
import { Badge } from "../../ui/data/badge.js";
import { Time } from "../../ui/data/time.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Icon } from "../../ui/icon.js";
import { Card } from "../../ui/layout/page.js";
import { counted } from "../../words/numbers.js";
import { visibleText, visibleValue } from "../../words/visible-text.js";
import { conditionInWords } from "./conditions/condition-words.js";

/** Why a user is in or out: every condition with what was seen. */
export function WhyCard({
  audienceId,
  userId,
  nameOf,
}: {
  audienceId: string;
  userId: string;
  nameOf: (id: string) => string;
}) {
  const api = useApi();
  const [asked, setAsked] = useState(userId);
  const why = useQuery({
    queryKey: ["audience-why", audienceId, asked],
    queryFn: () => api.audiences.why(audienceId, asked),
    enabled: asked !== "",
    refetchInterval: 2_000,
    retry: false,
  });
  return (
    <Card title="Why is a user in or out?" note="Every condition, with what the profile says now">
      <div className="stack">
        <UserQuestion userId={userId} onAsk={setAsked} />
        {asked === "" ? null : why.isError ? (
          <Failure error={why.error} />
        ) : why.isPending ? (
          <Skeleton lines={3} />
        ) : (
          <div className="stack-tight">
            <p className="row">
              <Link className="mono" href={addresses.profile(why.data.userId)}>
                {visibleText(why.data.userId, 80)}
              </Link>
              <Badge tone={why.data.member ? "good" : "quiet"}>{why.data.member ? "In" : "Out"}</Badge>
              {why.data.since && (
                <span className="small faint">
                  since <Time at={why.data.since} />
                </span>
              )}
            </p>
            <ExplanationNode node={why.data.explanation} nameOf={nameOf} />
          </div>
        )}
      </div>
    </Card>
  );
}

function ExplanationNode({ node, nameOf }: { node: Explanation; nameOf: (id: string) => string }) {
  const children =
    node.kind === "and" || node.kind === "or" ? node.conditions : node.kind === "not" ? [node.condition] : [];
  return (
    <div className="why">
      <p className={node.holds ? "why-line why-holds" : "why-line why-not"}>
        <Icon name={node.holds ? "check" : "close"} size={14} />
        <span>
          <span className="visually-hidden">{node.holds ? "Holds: " : "Does not hold: "}</span>
          {conditionInWords(node, nameOf)}
          <Seen node={node} />
        </span>
      </p>
      {children.length > 0 && (
        <ul>
          {children.map((child, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: conditions have no other name than their place
            <li key={index}>
              <ExplanationNode node={child} nameOf={nameOf} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Seen({ node }: { node: Explanation }) {
  if (node.kind === "trait") {
    return (
      <span className="why-seen">
        {node.seen === undefined ? "it is not set" : `it is ${visibleValue(node.seen, 200)}`}
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
          ; one leaves the window <Time at={node.changesAt} />
        </>
      )}
    </span>
  );
}
