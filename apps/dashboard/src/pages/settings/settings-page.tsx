import type { CollectorInfo } from "@sluice/control-api";
import { INCIDENT_SOURCE_ID } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { clockSkewMs } from "../../api/collector-clock.js";
import { useApi, useDestinations, useInfo } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { useSignOut } from "../../session/session.js";
import { Button, ButtonLink } from "../../ui/controls/button.js";
import { Badge, Time } from "../../ui/data/facts.js";
import { QueryView, Skeleton, useNotify } from "../../ui/feedback.js";
import { Confirm } from "../../ui/layout/dialog.js";
import { Card, Page } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { duration } from "../../words/numbers.js";
import { AuditCard } from "./audit-card.js";
import { TokensCard } from "./tokens-card.js";

export function SettingsPage() {
  const signOut = useSignOut();
  return (
    <Page
      title="Settings"
      actions={
        <Button icon="leave" onClick={signOut}>
          Sign out
        </Button>
      }
    >
      <CollectorCard />
      <TokensCard />
      <IncidentsCard />
      <AuditCard />
      <ResetCard />
    </Page>
  );
}

function CollectorCard() {
  const info = useInfo();
  return (
    <Card title="Collector">
      <QueryView query={info} skeleton={<Skeleton of="facts" lines={8} />}>
        {(found) => <CollectorFacts info={found} />}
      </QueryView>
    </Card>
  );
}

function CollectorFacts({ info }: { info: CollectorInfo }) {
  return (
    <dl className="facts">
      <dt>Version</dt>
      <dd>
        {info.version} <span className="faint">on Node {info.node}</span>
      </dd>
      <dt>Mode</dt>
      <dd>{info.mode === "dev" ? "Development" : "Production"}</dd>
      {info.region !== undefined && (
        <>
          <dt>Region</dt>
          <dd>{info.region}</dd>
        </>
      )}
      <dt>Started</dt>
      <dd>
        <Time at={info.startedAt} />
      </dd>
      <dt>Clock</dt>
      <dd>{skewInWords(clockSkewMs())}</dd>
      <dt>Storage</dt>
      <dd>
        {info.storage.kind === "ready" ? (
          <Badge tone="good">Ready</Badge>
        ) : (
          <Badge tone="bad">Not writable: {info.storage.reason}</Badge>
        )}
      </dd>
      <dt>Your token</dt>
      <dd>
        {info.token.name}{" "}
        <span className="faint">{info.token.access === "read" ? "read only" : "full access"}</span>
      </dd>
      <dt>Control API</dt>
      <dd>
        <a href="/api/v1/docs">Reference</a> <span className="faint">·</span>{" "}
        <a href="/api/v1/openapi.json">openapi.json</a>
      </dd>
      <dt>Guides</dt>
      <dd>
        <a href={addresses.guide()}>All guides</a>
      </dd>
    </dl>
  );
}

/** Relative times use the collector's clock. The difference matters when comparing them with local times. */
function skewInWords(skewMs: number): string {
  if (skewMs === 0) return "Same as this browser";
  return `${duration(Math.abs(skewMs))} ${skewMs > 0 ? "ahead of" : "behind"} this browser's. Times shown here use the collector's clock`;
}

/** Deletes all messages. Only in development. */
function ResetCard() {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const mode = useInfo().data?.mode;
  const [isAsking, setAsking] = useState(false);
  const reset = useMutation({
    mutationFn: () => api.reset(),
    onSuccess: async () => {
      setAsking(false);
      notify("All messages deleted");
      await queries.invalidateQueries();
    },
  });
  if (mode !== "dev") return null;
  return (
    <Card title="Reset" note="Only in development">
      <div className="row-apart">
        <p className="soft grow">
          Deletes all messages, deliveries and profiles. Sources, destinations, tokens and audiences stay.
        </p>
        <Button icon="deletions" onClick={() => setAsking(true)}>
          Delete all messages
        </Button>
      </div>
      <Confirm
        open={isAsking}
        title="Delete all messages?"
        action="Delete all messages"
        busy={reset.isPending}
        error={reset.error}
        onClose={() => setAsking(false)}
        onConfirm={() => reset.mutate()}
      >
        Pending deliveries are not sent, and nothing can be replayed.
      </Confirm>
    </Card>
  );
}

/** Who is notified of incidents. */
function IncidentsCard() {
  const destinations = useDestinations().data;
  const notified = destinations?.filter(({ sourceIds }) => sourceIds.includes(INCIDENT_SOURCE_ID)) ?? [];
  return (
    <Card
      title="Notifications"
      note={`A message of the built-in source ${INCIDENT_SOURCE_ID} when something goes wrong, and one when it is over`}
    >
      <div className="row-apart">
        <p className="soft grow">
          {notified.length === 0
            ? "No destination gets them yet. A webhook or another type can, like those of any source."
            : "Sent to "}
          {notified.map(({ id, name }, index) => (
            <span key={id}>
              {index > 0 && ", "}
              <Link href={addresses.destination(id)}>{visibleText(name, 80)}</Link>
            </span>
          ))}
        </p>
        <ButtonLink icon="webhook" href={addresses.catalog({ source: INCIDENT_SOURCE_ID })}>
          Connect a destination
        </ButtonLink>
      </div>
    </Card>
  );
}
