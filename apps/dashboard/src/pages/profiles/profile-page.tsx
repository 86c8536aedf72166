import type { ProfileView } from "@sluice/protocol";
import { formatFilter } from "@sluice/protocol";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useApi } from "../../api/api-context.js";
import { useAudiences } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { Badge } from "../../ui/data/badge.js";
import { JsonTree } from "../../ui/data/json-tree.js";
import { Time } from "../../ui/data/time.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card, Page } from "../../ui/layout/page.js";
import { counted } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";

export function ProfilePage({ userId }: { userId: string }) {
  const api = useApi();
  const profile = useQuery({
    queryKey: ["profiles", userId],
    queryFn: () => api.profiles.get(userId),
    refetchInterval: 3_000,
    retry: false,
  });
  const ofUser = formatFilter({
    terms: [{ kind: "field", field: "user", negated: false, isPrefix: false, value: userId }],
  });
  return (
    <Page
      title={visibleText(userId, 80)}
      up={{ href: addresses.profiles(), label: "Profiles" }}
      actions={
        <ButtonLink icon="live" href={addresses.live(ofUser)}>
          Their messages
        </ButtonLink>
      }
    >
      {profile.isError ? (
        <Failure error={profile.error} onRetry={() => void profile.refetch()} />
      ) : profile.isPending ? (
        <Card>
          <Skeleton />
        </Card>
      ) : (
        <ProfileBody profile={profile.data} />
      )}
    </Page>
  );
}

function ProfileBody({ profile }: { profile: ProfileView }) {
  const audiences = useAudiences().data ?? [];
  const nameOf = (id: string, key: string) => audiences.find((one) => one.id === id)?.name ?? key;
  return (
    <div className="two-columns">
      <div className="stack">
        <Card title="Traits">
          {Object.keys(profile.traits).length === 0 ? (
            <p className="soft">No identify message has set one.</p>
          ) : (
            <JsonTree value={profile.traits} label="Traits" />
          )}
          {profile.leftOut !== undefined && <LeftOut {...profile.leftOut} />}
        </Card>
        <Card title="Computed traits">
          {Object.keys(profile.computedTraits).length === 0 ? (
            <p className="soft">None.</p>
          ) : (
            <JsonTree value={profile.computedTraits} label="Computed traits" />
          )}
        </Card>
      </div>
      <div className="stack">
        <Card title="Identity">
          <dl className="facts">
            <dt>First seen</dt>
            <dd>
              <Time at={profile.firstSeenAt} />
            </dd>
            <dt>Last seen</dt>
            <dd>
              <Time at={profile.lastSeenAt} />
            </dd>
            <dt>User ids</dt>
            <dd className="mono">
              {profile.identities.userIds.map((id) => visibleText(id, 80)).join(", ") || "none"}
            </dd>
            <dt>Anonymous ids</dt>
            <dd className="mono">
              {profile.identities.anonymousIds.map((id) => visibleText(id, 80)).join(", ") || "none"}
            </dd>
          </dl>
        </Card>
        <Card title="Audiences" note="Those this user is in, or was in">
          {profile.audiences.length === 0 ? (
            <p className="soft">None.</p>
          ) : (
            <ul className="lines">
              {profile.audiences.map((one) => (
                <li key={one.id}>
                  <Link className="grow" href={addresses.audience(one.id)}>
                    {nameOf(one.id, one.key)}
                  </Link>
                  <Badge tone={one.member ? "good" : "quiet"}>{one.member ? "In" : "Out"}</Badge>
                  <span className="small faint">
                    <Time at={one.since} />
                  </span>
                </li>
              ))}
            </ul>
          )}
        </Card>
      </div>
    </div>
  );
}

function LeftOut({ traits, ids }: NonNullable<ProfileView["leftOut"]>) {
  return (
    <p className="soft">
      This profile is full: {counted(traits, "trait value")} and {counted(ids, "id")} left out. A profile
      holds at most 500 ids, 1,000 traits and 256 KB.
    </p>
  );
}
