import type { ProfileView } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { useApi, useAudiences } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button, ButtonLink } from "../../ui/controls/button.js";
import { Badge, Time } from "../../ui/data/facts.js";
import { JsonTree } from "../../ui/data/json-tree.js";
import { Table } from "../../ui/data/table.js";
import { QueryView, Skeleton } from "../../ui/feedback.js";
import { Card, Page } from "../../ui/layout/page.js";
import { visibleText, visibleValue } from "../../words/messages.js";
import { counted } from "../../words/numbers.js";
import { filterOfUser, UserMessages } from "./user-messages.js";

/** A profile can have 1,000 traits. */
const SHOWN_AT_FIRST = 25;

/** Traits by name, one a row. Objects and lists can be opened. */
function TraitTable({
  traits,
  label,
  none,
}: {
  traits: { readonly [name: string]: unknown };
  label: string;
  none: string;
}) {
  const [isWhole, setWhole] = useState(false);
  const all = Object.entries(traits).sort(([one], [other]) => one.localeCompare(other));
  if (all.length === 0) return <p className="soft card-text">{none}</p>;
  const shown = isWhole ? all : all.slice(0, SHOWN_AT_FIRST);
  return (
    <>
      <Table
        label={`${label}, by name`}
        items={shown}
        keyOf={([name]) => name}
        columns={[
          {
            head: "Name",
            lead: true,
            cell: ([name]) => <span className="mono">{visibleText(name, 60)}</span>,
          },
          { head: "Value", cell: ([name, value]) => <TraitValue name={name} value={value} /> },
          { head: "Type", align: "end", cell: ([, value]) => typeOf(value) },
        ]}
      />
      {shown.length < all.length && (
        <div className="list-more">
          <Button size="small" onClick={() => setWhole(true)}>
            Show all {counted(all.length, "trait")}
          </Button>
        </div>
      )}
    </>
  );
}

function TraitValue({ name, value }: { name: string; value: unknown }) {
  if (typeof value !== "object" || value === null) return visibleValue(value, 300);
  return <JsonTree value={value} label={visibleText(name, 60)} />;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "list" : typeof value === "string" ? "text" : typeof value;
}

export function ProfilePage({ userId }: { userId: string }) {
  const api = useApi();
  const profile = useQuery({
    queryKey: ["profiles", userId],
    queryFn: () => api.profiles.get(userId),
    refetchInterval: 3_000,
    retry: false,
  });
  return (
    <Page
      title={visibleText(userId, 80)}
      up={{ href: addresses.profiles(), label: "Profiles" }}
      actions={
        <ButtonLink icon="live" href={addresses.live(filterOfUser([userId]))}>
          View messages
        </ButtonLink>
      }
    >
      <QueryView
        query={profile}
        canRetry
        skeleton={
          <Card>
            <Skeleton />
          </Card>
        }
      >
        {(found) => <ProfileBody profile={found} />}
      </QueryView>
    </Page>
  );
}

function ProfileBody({ profile }: { profile: ProfileView }) {
  return (
    <div className="stack">
      <div className="two-columns">
        <div className="stack">
          <Card title="Traits" note="By name" flush>
            <TraitTable traits={profile.traits} label="Traits" none="No identify message has set a trait." />
            {profile.leftOut !== undefined && <LeftOut {...profile.leftOut} />}
          </Card>
          <Card title="Computed traits" note="By name" flush>
            <TraitTable traits={profile.computedTraits} label="Computed traits" none="None." />
          </Card>
        </div>
        <div className="stack">
          <IdentityCard profile={profile} />
          <MembershipsCard profile={profile} />
        </div>
      </div>
      <UserMessages profile={profile} />
    </div>
  );
}

function IdentityCard({ profile: { firstSeenAt, lastSeenAt, identities } }: { profile: ProfileView }) {
  return (
    <Card title="Identity">
      <dl className="facts">
        <dt>First seen</dt>
        <dd>
          <Time at={firstSeenAt} />
        </dd>
        <dt>Last seen</dt>
        <dd>
          <Time at={lastSeenAt} />
        </dd>
        <dt>User ids</dt>
        <dd className="mono">{listed(identities.userIds)}</dd>
        <dt>Anonymous ids</dt>
        <dd className="mono">{listed(identities.anonymousIds)}</dd>
      </dl>
    </Card>
  );
}

function listed(ids: readonly string[]): string {
  return ids.map((id) => visibleText(id, 80)).join(", ") || "none";
}

function MembershipsCard({ profile }: { profile: ProfileView }) {
  const audiences = useAudiences().data ?? [];
  const nameOf = (id: string, key: string) => audiences.find((one) => one.id === id)?.name ?? key;
  return (
    <Card title="Audiences" note="Current and former memberships">
      {profile.audiences.length === 0 ? (
        <p className="soft">None.</p>
      ) : (
        <ul className="lines">
          {profile.audiences.map((one) => (
            <li key={one.id}>
              <Link className="grow" href={addresses.audience(one.id)}>
                {nameOf(one.id, one.key)}
              </Link>
              <Badge tone={one.member ? "good" : "quiet"}>{one.member ? "Member" : "Left"}</Badge>
              <span className="small faint">
                <Time at={one.since} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function LeftOut({ traits, ids }: NonNullable<ProfileView["leftOut"]>) {
  return (
    <p className="soft card-text">
      This profile is full: {counted(traits, "trait value")} and {counted(ids, "id")} left out. A profile
      holds up to 500 ids, 1,000 traits and 256 KB.
    </p>
  );
}
