import type { MessageView, StoredMessageView } from "@sluice/control-api";
import type { OutboundKind } from "@sluice/protocol";
import { webhookPayload } from "@sluice/protocol";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useApi, useWhatToEnable } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { useAddressQuery } from "../../routing/dashboard-router.js";
import { Button } from "../../ui/controls/button.js";
import { CodeBlock } from "../../ui/data/code-block.js";
import { KindTag } from "../../ui/data/facts.js";
import { JsonTree } from "../../ui/data/json-tree.js";
import { Failure, QueryView, Skeleton } from "../../ui/feedback.js";
import { Card, Page } from "../../ui/layout/page.js";
import { Tabs } from "../../ui/layout/tabs.js";
import { escapeHidden, messageTitle, visibleText, visibleValue } from "../../words/messages.js";
import { bytes } from "../../words/numbers.js";
import { overallStateOf } from "../../words/states.js";
import { exactTime, localTime } from "../../words/times.js";
import { useRetry } from "../deliveries/retry-button.js";
import { SourceLink } from "../sources/source-link.js";
import { CopyAs } from "./copy-as.js";
import { IssueList } from "./issue-list.js";
import { canRetry, Timeline } from "./timeline-view.js";

/** How often the page refreshes while a delivery is pending. */
const PENDING_MS = 1_000;

export function MessagePage({ messageId }: { messageId: string }) {
  const api = useApi();
  const query = useAddressQuery();
  const sourceId = query.get("source") ?? undefined;
  const message = useQuery({
    queryKey: ["message", messageId, sourceId],
    queryFn: () => api.messages.get(messageId, sourceId),
    refetchInterval: ({ state }) => (isPending(state.data) ? PENDING_MS : false),
  });
  const title = message.data === undefined ? "Message" : titleOf(message.data);
  return (
    <Page
      wide
      title={title}
      up={{ href: addresses.live(), label: "Live messages" }}
      badge={message.data && <MessageBadges view={message.data} />}
      actions={message.data?.state === "accepted" && <MessageActions view={message.data} />}
    >
      <QueryView
        query={message}
        canRetry
        skeleton={
          <Card>
            <Skeleton lines={6} />
          </Card>
        }
      >
        {(view) => <MessageBody view={view} />}
      </QueryView>
    </Page>
  );
}

function MessageBody({ view }: { view: MessageView }) {
  return (
    <div className="message">
      <Card title="Timeline" note="By destination, in your time zone">
        <Timeline view={view} />
      </Card>
      <div className="stack">
        {view.state === "accepted" && view.issues !== undefined && (
          <Card title="Issues" note="They did not stop the message">
            <IssueList issues={view.issues} />
          </Card>
        )}
        <Card title="Details">
          <MessageFacts view={view} />
        </Card>
        <Card>
          <MessageData view={view} />
        </Card>
      </div>
    </div>
  );
}

function MessageFacts({ view }: { view: MessageView }) {
  const fields = view.state === "accepted" ? view.message : {};
  const userId = fields.userId;
  return (
    <dl className="facts">
      <dt>Message id</dt>
      <dd className="mono">{visibleText(view.messageId ?? "none", 120)}</dd>
      <dt>Source</dt>
      <dd>
        <SourceLink id={view.sourceId} />
      </dd>
      {typeof userId === "string" && (
        <>
          <dt>User</dt>
          <dd className="mono">
            <Link href={addresses.profile(userId)}>{visibleText(userId, 120)}</Link>
          </dd>
        </>
      )}
      {fields.anonymousId !== undefined && (
        <>
          <dt>Anonymous id</dt>
          <dd className="mono">{visibleValue(fields.anonymousId, 120)}</dd>
        </>
      )}
      <dt>Received</dt>
      <dd title={exactTime(view.receivedAt)}>{localTime(view.receivedAt)}</dd>
      <dt>Size</dt>
      <dd className="number">
        {bytes(
          new TextEncoder().encode(view.state === "accepted" ? JSON.stringify(view.message) : view.excerpt)
            .length,
        )}
      </dd>
    </dl>
  );
}

function MessageData({ view }: { view: MessageView }) {
  if (view.state === "rejected") {
    return (
      <>
        <h2>Rejected request (first 4 KB)</h2>
        <CodeBlock label="The rejected message" code={escapeHidden(view.excerpt)} wrap />
      </>
    );
  }
  return (
    <Tabs
      label="The message's data"
      prefix="data"
      tabs={[
        {
          id: "tree",
          label: "Message",
          content: <JsonTree value={view.message} label="The message as JSON" />,
        },
        {
          id: "raw",
          label: "Raw",
          content: (
            <CodeBlock
              label="The message as JSON text"
              code={escapeHidden(JSON.stringify(view.message, null, 2))}
              wrap
            />
          ),
        },
        {
          id: "webhook",
          label: "Webhook body",
          content: (
            <div className="stack-tight">
              <p className="small soft">
                The body that webhook destinations get, unless a filter or a transformation changes it.
              </p>
              <JsonTree value={webhookBody(view)} label="The webhook body as JSON" />
            </div>
          ),
        },
      ]}
    />
  );
}

function webhookBody({ message, receivedAt }: StoredMessageView): unknown {
  const time = message.timestamp ?? message.originalTimestamp ?? receivedAt;
  return webhookPayload({ ...message, type: message.type as OutboundKind }, String(time));
}

function MessageBadges({ view }: { view: MessageView }) {
  if (view.state === "rejected") return <span className="badge tone-bad">Rejected</span>;
  const verdict = overallStateOf(view.outcomes);
  return (
    <>
      <KindTag kind={String(view.message.type)} />
      <span className={`badge tone-${verdict.tone}`}>
        <span className="dot" aria-hidden="true" />
        {verdict.label}
      </span>
    </>
  );
}

/** Retries the failed and pending deliveries of this message, and copies the message. */
function MessageActions({ view }: { view: StoredMessageView }) {
  const retry = useRetry();
  const whatToEnable = useWhatToEnable();
  const failed = view.outcomes.filter(
    (one) => canRetry(one) && whatToEnable(one.destinationId) === undefined,
  );
  return (
    <>
      {failed.length > 0 && (
        <Button icon="replay" busy={retry.isPending} onClick={() => retry.mutate(failed.map(({ id }) => id))}>
          Retry {failed.length > 1 ? `all ${failed.length}` : "now"}
        </Button>
      )}
      <CopyAs message={view.message} sourceId={view.sourceId} />
      {retry.isError && <Failure error={retry.error} />}
    </>
  );
}

function titleOf(view: MessageView): string {
  return view.state === "accepted" ? messageTitle(view.message) : "Rejected message";
}

function isPending(view: MessageView | undefined): boolean {
  if (view?.state !== "accepted") return false;
  return view.outcomes.length === 0 || view.outcomes.some((outcome) => outcome.state === "pending");
}
