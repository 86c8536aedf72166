import type { AudiencePatch, AudienceView } from "@sluice/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/api-context.js";
import { useAudiences, useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button, ButtonLink } from "../../ui/controls/button.js";
import { Time } from "../../ui/data/time.js";
import { Failure } from "../../ui/feedback/failure.js";
import { DeleteCard } from "../../ui/layout/delete-card.js";
import { Card, Page } from "../../ui/layout/page.js";
import { ResourcePage } from "../../ui/layout/resource-page.js";
import { count } from "../../words/numbers.js";
import { SyncBadge, SyncProgress } from "../definitions/sync-status.js";
import { ConditionTree } from "./conditions/condition-tree.js";
import { MembersCard } from "./members-card.js";
import { scheduleInWords } from "./sending-draft.js";
import { WhyCard } from "./why-card.js";

const UP = { href: addresses.audiences(), label: "Audiences" };

export function AudiencePage({ id }: { id: string }) {
  const api = useApi();
  const audience = useQuery({
    queryKey: ["audiences", id],
    queryFn: () => api.audiences.get(id),
    refetchInterval: 2_000,
  });
  return (
    <ResourcePage kind="Audience" up={UP} query={audience}>
      {(found) => <AudienceBody audience={found} />}
    </ResourcePage>
  );
}

function AudienceBody({ audience }: { audience: AudienceView }) {
  const { id, name, status, condition } = audience;
  const api = useApi();
  const all = useAudiences().data ?? [];
  const nameOf = (other: string) => all.find((one) => one.id === other)?.name ?? other;
  const [whyUser, setWhyUser] = useState("");
  return (
    <Page
      title={name}
      up={UP}
      badge={<SyncBadge status={status} />}
      actions={<AudienceActions audience={audience} />}
    >
      <SyncProgress status={status} />
      <div className="two-columns">
        <Facts audience={audience} />
        <Card title="Conditions">
          <ConditionTree condition={condition} nameOf={nameOf} />
        </Card>
      </div>
      <div className="two-columns">
        <MembersCard audienceId={id} onWhy={setWhyUser} />
        <WhyCard key={whyUser} audienceId={id} userId={whyUser} nameOf={nameOf} />
      </div>
      <DeleteCard
        text="Its members are forgotten. What destinations were told stays with them."
        name={name}
        action="Delete audience"
        remove={() => api.audiences.delete(id)}
        resource="audiences"
        then={addresses.audiences()}
      />
    </Page>
  );
}

function Facts({ audience }: { audience: AudienceView }) {
  const names = useNames();
  return (
    <Card title="Size" note="Members now">
      <p className="preview-size number">{count(audience.size)}</p>
      <dl className="facts">
        <dt>Trait</dt>
        <dd>
          <code>{audience.key}</code>
        </dd>
        <dt>Sent to</dt>
        <dd>
          {audience.destinationIds.length === 0
            ? "Nowhere"
            : audience.destinationIds.map((id) => (
                <Link key={id} className="list-link" href={addresses.destination(id)}>
                  {names.destination(id)}
                </Link>
              ))}
        </dd>
        <dt>When</dt>
        <dd>
          {scheduleInWords({
            initialDelayMs: audience.sync.initialDelayMs ?? 0,
            everyMs: audience.sync.everyMs ?? 0,
          })}
        </dd>
        <dt>Track events</dt>
        <dd>{audience.trackEvents ? "“Audience Entered” and “Audience Exited” too" : "No"}</dd>
        <dt>Made</dt>
        <dd>
          <Time at={audience.createdAt} />
        </dd>
      </dl>
    </Card>
  );
}

function AudienceActions({ audience }: { audience: AudienceView }) {
  const api = useApi();
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (patch: AudiencePatch) =>
      api.audiences.patch(audience.id, { ...patch, version: audience.version }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["audiences"] }),
  });
  return (
    <>
      <ButtonLink icon="edit" href={addresses.editAudience(audience.id)}>
        Edit
      </ButtonLink>
      {audience.enabled ? (
        <Button
          icon={audience.paused ? "play" : "pause"}
          busy={change.isPending}
          onClick={() => change.mutate({ paused: !audience.paused })}
        >
          {audience.paused ? "Go on" : "Pause"}
        </Button>
      ) : (
        <Button icon="check" busy={change.isPending} onClick={() => change.mutate({ enabled: true })}>
          Enable
        </Button>
      )}
      {change.isError && <Failure error={change.error} />}
    </>
  );
}
