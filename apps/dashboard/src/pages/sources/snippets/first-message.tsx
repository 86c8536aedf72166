import type { SourceView } from "@sluice/control-api";
import { useMutation } from "@tanstack/react-query";
import { addresses } from "../../../routing/addresses.js";
import { Button, ButtonLink } from "../../../ui/controls/button.js";
import { EmptyState } from "../../../ui/feedback/empty-state.js";
import { Failure } from "../../../ui/feedback/failure.js";
import { SnippetTabs } from "./snippet-tabs.js";
import { NO_KEY, newestKey } from "./snippets.js";

/** Shown until the first message arrives: how to send one. */
export function FirstMessage({ sources }: { sources: readonly SourceView[] }) {
  const source = sources[0];
  const writeKey = newestKey(source);
  const test = useMutation({ mutationFn: () => sendTestEvent(writeKey) });
  if (source === undefined) {
    return (
      <EmptyState
        icon="sources"
        title="Create a source first"
        action={
          <ButtonLink look="primary" href={addresses.sources()}>
            New source
          </ButtonLink>
        }
      >
        <p>
          A source is a server, a website or an app that sends messages. Its SDK uses the source's write key.
        </p>
      </EmptyState>
    );
  }
  return (
    <div className="first">
      <div className="first-head">
        <span className="waiting" aria-hidden="true" />
        <div className="grow">
          <h2>Waiting for the first message</h2>
          <p className="soft">
            Send one from your code, or paste the curl command into a terminal. It appears here immediately.
          </p>
        </div>
        {writeKey !== NO_KEY && (
          <Button look="primary" icon="deliveries" busy={test.isPending} onClick={() => test.mutate()}>
            Send a test event
          </Button>
        )}
      </div>
      {test.isError && <Failure error={test.error} />}
      <SnippetTabs writeKey={writeKey} />
      <p className="small faint">
        The snippets contain the write key of the source “{source.name}”. Segment's SDKs work unchanged; they
        only need this host. Guides: <a href={addresses.guide("guide/quickstarts")}>quickstarts</a> for your
        framework, <a href={addresses.guide("guide/webhooks")}>receiving webhooks</a>,{" "}
        <a href={addresses.guide()}>all guides</a>.
      </p>
    </div>
  );
}

/** Sends one event the way a client does: with the source's write key, to this collector. */
async function sendTestEvent(writeKey: string): Promise<void> {
  const response = await fetch("/v1/track", {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${writeKey}:`)}`, "content-type": "application/json" },
    body: JSON.stringify({ userId: "test-user", event: "Test Event", properties: { sentFrom: "dashboard" } }),
  });
  if (!response.ok) throw new Error(`The collector answered ${response.status}: ${await response.text()}`);
}
