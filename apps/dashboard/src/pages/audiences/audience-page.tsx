import type { AudiencePatch, AudienceView } from "@sluice/control-api";
import type { Condition } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { useApi, useAudiences, usePagedQuery } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button, ButtonLink, LoadMore } from "../../ui/controls/button.js";
import { Time } from "../../ui/data/facts.js";
import { Table } from "../../ui/data/table.js";
import { Failure, QueryView } from "../../ui/feedback.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { count } from "../../words/numbers.js";
import { AUDIENCES } from "../definitions/definition-kind.js";
import { DefinitionPage, LoadedDefinition } from "../definitions/definition-page.js";
import { DefinitionFacts, idOf, UserLink } from "../definitions/definition-parts.js";
import { childrenOf, conditionInWords } from "./conditions/condition-draft.js";
import { Membership, MembershipCard, SizesCard } from "./membership-card.js";
import { scheduleInWords } from "./sending-card.js";

export function AudiencePage({ id }: { id: string }) {
  return (
    <LoadedDefinition kind={AUDIENCES} id={id}>
      {(audience) => <AudienceBody audience={audience} />}
    </LoadedDefinition>
  );
}

function AudienceBody({ audience }: { audience: AudienceView }) {
  const { id, condition } = audience;
  const all = useAudiences().data ?? [];
  const nameOf = (other: string) => all.find((one) => one.id === other)?.name ?? other;
  return (
    <DefinitionPage
      kind={AUDIENCES}
      definition={audience}
      actions={<AudienceActions audience={audience} />}
      deleteNote="Deletes the audience and its member list. Destinations keep what they already received."
    >
      <div className="two-columns">
        <SizeCard audience={audience} />
        <Card title="Conditions">
          <ConditionTree condition={condition} nameOf={nameOf} />
        </Card>
      </div>
      <SizesCard id={id} size={audience.size} />
      <div className="two-columns">
        <MembersCard audienceId={id} nameOf={nameOf} />
        <MembershipCard audienceId={id} nameOf={nameOf} />
      </div>
    </DefinitionPage>
  );
}

function SizeCard({ audience }: { audience: AudienceView }) {
  const { size, sync, trackEvents } = audience;
  return (
    <Card title="Size" note="Current members">
      <p className="preview-size number">{count(size)}</p>
      <DefinitionFacts definition={audience}>
        <dt>Sync</dt>
        <dd>{scheduleInWords({ initialDelayMs: sync.initialDelayMs ?? 0, everyMs: sync.everyMs ?? 0 })}</dd>
        <dt>Track events</dt>
        <dd>{trackEvents ? "Also “Audience Entered” and “Audience Exited”" : "No"}</dd>
      </DefinitionFacts>
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
          {audience.paused ? "Resume" : "Pause"}
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

/** A condition tree as nested lists. */
function ConditionTree({ condition, nameOf }: { condition: Condition; nameOf: (id: string) => string }) {
  const children = childrenOf(condition);
  return (
    <div className="tree">
      <p>{conditionInWords(condition, nameOf)}</p>
      {children.length > 0 && (
        <ul>
          {children.map((child, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: conditions have no id, only a position
            <li key={index}>
              <ConditionTree condition={child} nameOf={nameOf} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function MembersCard({
  audienceId,
  nameOf,
}: {
  audienceId: string;
  /** The name of an audience by its id. */
  nameOf: (id: string) => string;
}) {
  const panelId = useId();
  /** The user whose membership is explained in its row; empty: nobody's. */
  const [explained, setExplained] = useState("");
  const api = useApi();
  const members = usePagedQuery({
    queryKey: ["audience-members", audienceId],
    read: (cursor) => api.audiences.members(audienceId, { limit: 25, cursor }),
    refetchInterval: 3_000,
  });
  return (
    <Card title="Members" note="Current members. The longest-known users come first" flush>
      <QueryView query={members}>
        {(items) =>
          items.length === 0 ? (
            <p className="soft card-text">No user meets the conditions.</p>
          ) : (
            <Table
              label="Members, longest-known users first"
              items={items}
              keyOf={idOf}
              columns={[
                {
                  head: "User",
                  lead: true,
                  cell: (one) => (
                    <>
                      <UserLink user={one} />
                      {one.name !== undefined && <span className="soft"> {visibleText(one.name, 60)}</span>}
                      {idOf(one) === explained && (
                        <div id={`${panelId}-why`} className="row-panel">
                          <Membership audienceId={audienceId} userId={explained} nameOf={nameOf} />
                        </div>
                      )}
                    </>
                  ),
                },
                {
                  head: "Member since",
                  align: "end",
                  cell: (one) => (one.since ? <Time at={one.since} /> : "–"),
                },
                {
                  head: "Actions",
                  align: "end",
                  cell: (one) => (
                    <Button
                      size="small"
                      look="quiet"
                      aria-expanded={idOf(one) === explained}
                      aria-controls={`${panelId}-why`}
                      onClick={() => setExplained(idOf(one) === explained ? "" : idOf(one))}
                    >
                      Why?
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </QueryView>
      <LoadMore query={members} />
    </Card>
  );
}
