import type { DeletionPlan } from "@sluice/control-api";
import { useNames } from "../../api/queries.js";
import { counted } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";

/** Ids listed per user; the others are only counted. */
const SHOWN = 20;

/** What a deletion would remove, by user. */
export function DeletionPlanView({ plan }: { plan: DeletionPlan }) {
  return (
    <section className="stack-tight" aria-label="Preview of the deletion">
      <h3>The following data will be deleted</h3>
      <ul className="receipt">
        {plan.users.map((user) => (
          <PlannedUser
            key={`${user.userId === undefined}${user.userId ?? user.anonymousId}`}
            user={user}
            includeAliases={plan.includeAliases}
          />
        ))}
      </ul>
    </section>
  );
}

function PlannedUser({
  user,
  includeAliases,
}: {
  user: DeletionPlan["users"][number];
  includeAliases: boolean;
}) {
  const names = useNames();
  const { userId, anonymousId = "", anonymousIds, aliases } = user;
  return (
    <li>
      <span>
        <code className="receipt-id">{visibleText(userId ?? anonymousId, 200)}</code>
        {userId === undefined && <span className="small soft"> anonymous</span>}
      </span>
      <span className="small soft">
        {counted(user.messages, "message")}
        {user.messagesBySource.length > 0 &&
          ` (${user.messagesBySource.map((one) => `${names.source(one.sourceId)}: ${one.messages}`).join(", ")})`}
        , {counted(user.attempts, "attempt")}, {counted(user.retries, "pending retry", "pending retries")},{" "}
        {user.profile ? "the profile" : "no profile"}, {counted(user.audienceMemberships, "membership")}
      </span>
      {anonymousIds.length > 0 && (
        <span className="small soft">
          With {counted(anonymousIds.length, "anonymous id")}: <Ids ids={anonymousIds} />
        </span>
      )}
      {aliases.length > 0 && (
        <span className="small">
          {includeAliases ? "Aliases that are also deleted: " : "Aliases that are kept: "}
          <Ids ids={aliases} />
        </span>
      )}
    </li>
  );
}

function Ids({ ids }: { ids: readonly string[] }) {
  const more = ids.length - SHOWN;
  return (
    <>
      <code>
        {ids
          .slice(0, SHOWN)
          .map((id) => visibleText(id, 80))
          .join(", ")}
      </code>
      {more > 0 && ` and ${more} more`}
    </>
  );
}
