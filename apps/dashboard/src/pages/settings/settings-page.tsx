import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/api-context.js";
import { clockSkewMs } from "../../api/collector-clock.js";
import { useInfo } from "../../api/queries.js";
import { useSignOut } from "../../session/session.js";
import { Button } from "../../ui/controls/button.js";
import { Badge } from "../../ui/data/badge.js";
import { Time } from "../../ui/data/time.js";
import { Failure } from "../../ui/feedback/failure.js";
import { useNotify } from "../../ui/feedback/notice.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Confirm } from "../../ui/layout/confirm.js";
import { Card, Page } from "../../ui/layout/page.js";
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
      <AuditCard />
      <ResetCard />
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
        <Skeleton of="facts" lines={8} />
      ) : (
        <dl className="facts">
          <dt>Version</dt>
          <dd>
            {info.data.version} <span className="faint">on Node {info.data.node}</span>
          </dd>
          <dt>Mode</dt>
          <dd>{info.data.mode === "dev" ? "Development" : "Production"}</dd>
          {info.data.region !== undefined && (
            <>
              <dt>Region</dt>
              <dd>{info.data.region}</dd>
            </>
          )}
          <dt>Running since</dt>
          <dd>
            <Time at={info.data.startedAt} />
          </dd>
          <dt>Its clock</dt>
          <dd>{skewInWords(clockSkewMs())}</dd>
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

/** Times are shown by the collector's clock; who compares them with their own has to know. */
function skewInWords(skewMs: number): string {
  if (skewMs === 0) return "As this browser's";
  return `${duration(Math.abs(skewMs))} ${skewMs > 0 ? "ahead of" : "behind"} this browser's; times here are by the collector's`;
}

/** A collector in development can begin anew. */
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
      notify("Every message is forgotten");
      await queries.invalidateQueries();
    },
  });
  if (mode !== "dev") return null;
  return (
    <Card title="Begin anew" note="Only in development">
      <div className="row-apart">
        <p className="soft grow">
          Forgets every message and profile and what became of them. Sources, destinations, tokens and
          audiences stay.
        </p>
        <Button icon="deletions" onClick={() => setAsking(true)}>
          Forget all messages
        </Button>
      </div>
      <Confirm
        open={isAsking}
        title="Forget all messages?"
        action="Forget all messages"
        busy={reset.isPending}
        error={reset.error}
        onClose={() => setAsking(false)}
        onConfirm={() => reset.mutate()}
      >
        Deliveries that wait are not sent any more, and nothing can be replayed.
      </Confirm>
    </Card>
  );
}
