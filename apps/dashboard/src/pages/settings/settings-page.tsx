import { useInfo } from "../../api/queries.js";
import { useSignOut } from "../../session/session.js";
import { Badge } from "../../ui/badge.js";
import { Button } from "../../ui/button.js";
import { Failure } from "../../ui/failure.js";
import { Card, Page } from "../../ui/page.js";
import { Skeleton } from "../../ui/skeleton.js";
import { Time } from "../../ui/time.js";
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
      <AuditCard />
    </Page>
  );
}

function CollectorCard() {
  const info = useInfo();
  return (
    <Card title="This collector">
      {info.isError ? (
        <Failure error={info.error} />
      ) : info.isPending ? (
        <Skeleton of="facts" lines={7} />
      ) : (
        <dl className="facts">
          <dt>Version</dt>
          <dd>
            {info.data.version} <span className="faint">on Node {info.data.node}</span>
          </dd>
          <dt>Mode</dt>
          <dd>{info.data.mode === "dev" ? "Development" : "Production"}</dd>
          <dt>Region</dt>
          <dd>{info.data.region}</dd>
          <dt>Running since</dt>
          <dd>
            <Time at={info.data.startedAt} />
          </dd>
          <dt>Storage</dt>
          <dd>
            {info.data.storage.kind === "ready" ? (
              <Badge tone="good">Ready</Badge>
            ) : (
              <Badge tone="bad">Cannot be written: {info.data.storage.reason}</Badge>
            )}
          </dd>
          <dt>Your token</dt>
          <dd>
            {info.data.token.name}{" "}
            <span className="faint">
              {info.data.token.access === "read" ? "may only read" : "may change things"}
            </span>
          </dd>
          <dt>HTTP API</dt>
          <dd>
            <a href="/api/v1/docs">Browse it</a> <span className="faint">or read</span>{" "}
            <a href="/api/v1/openapi.json">openapi.json</a>
          </dd>
        </dl>
      )}
    </Card>
  );
}
