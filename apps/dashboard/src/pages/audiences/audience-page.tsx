import type { AudiencePatch, AudienceView } from "@sluice/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/api-context.js";
import { useAudiences, useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Link } from "../../routing/link.js";
import { useRouter } from "../../routing/router.js";
import { Button, ButtonLink } from "../../ui/button.js";
import { Confirm } from "../../ui/confirm.js";
import { Failure } from "../../ui/failure.js";
import { Menu, MenuItem } from "../../ui/menu.js";
import { Card, Page } from "../../ui/page.js";
import { Skeleton } from "../../ui/skeleton.js";
import { Time } from "../../ui/time.js";
import { count } from "../../words/numbers.js";
import { ConditionTree } from "./condition-tree.js";
import { MembersCard } from "./members-card.js";
import { SyncBadge, SyncProgress } from "./sync-status.js";
import { WhyCard } from "./why-card.js";

export function AudiencePage({ id }: { id: string }) {
  const api = useApi();
  const audience = useQuery({
    queryKey: ["audiences", id],
    queryFn: () => api.audiences.get(id),
    refetchInterval: 2_000,
  });
  const all = useAudiences().data ?? [];
  const nameOf = (other: string) => all.find((one) => one.id === other)?.name ?? other;
  const [whyUser, setWhyUser] = useState("");
  const up = { href: addresses.audiences(), label: "Audiences" };
  if (audience.isError) {
    return (
      <Page title="Audience" up={up}>
        <Failure error={audience.error} onRetry={() => void audience.refetch()} />
      </Page>
    );
  }
  if (audience.isPending) {
    return (
      <Page title="Audience" up={up}>
        <Card>
          <Skeleton />
        </Card>
      </Page>
    );
  }
  return (
    <Page
      title={audience.data.name}
      up={up}
      badge={<SyncBadge status={audience.data.status} />}
      actions={<AudienceActions audience={audience.data} />}
    >
      <SyncProgress status={audience.data.status} />
      <div className="two-columns">
        <Facts audience={audience.data} />
        <Card title="Conditions">
          <ConditionTree condition={audience.data.condition} nameOf={nameOf} />
        </Card>
      </div>
      <div className="two-columns">
        <MembersCard audienceId={id} onWhy={setWhyUser} />
        <WhyCard key={whyUser} audienceId={id} userId={whyUser} nameOf={nameOf} />
      </div>
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
  const { navigate } = useRouter();
  const [isLeaving, setLeaving] = useState(false);
  const change = useMutation({
    mutationFn: (patch: AudiencePatch) =>
      api.audiences.patch(audience.id, { ...patch, version: audience.version }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["audiences"] }),
  });
  const remove = useMutation({
    mutationFn: () => api.audiences.delete(audience.id),
    onSuccess: async () => {
      navigate(addresses.audiences());
      await queries.invalidateQueries({ queryKey: ["audiences"] });
    },
  });
  return (
    <>
      <ButtonLink icon="edit" href={addresses.editAudience(audience.id)}>
        Edit
      </ButtonLink>
      <Button
        icon={audience.paused ? "play" : "pause"}
        busy={change.isPending}
        onClick={() => change.mutate({ paused: !audience.paused })}
      >
        {audience.paused ? "Go on" : "Pause"}
      </Button>
      <Menu label="More actions" icon="more">
        <MenuItem
          icon={audience.enabled ? "minus" : "check"}
          onSelect={() => change.mutate({ enabled: !audience.enabled })}
        >
          {audience.enabled ? "Disable" : "Enable"}
        </MenuItem>
        <MenuItem icon="deletions" danger onSelect={() => setLeaving(true)}>
          Delete
        </MenuItem>
      </Menu>
      {change.isError && <Failure error={change.error} />}
      <Confirm
        open={isLeaving}
        title={`Delete ${audience.name}?`}
        action="Delete audience"
        busy={remove.isPending}
        error={remove.error}
        onClose={() => setLeaving(false)}
        onConfirm={() => remove.mutate()}
      >
        Its members are forgotten. What destinations were told stays with them.
      </Confirm>
    </>
  );
}
