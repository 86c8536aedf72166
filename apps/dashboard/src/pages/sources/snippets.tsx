import type { SourceView } from "@sluice/control-api";
import { useMutation } from "@tanstack/react-query";
import { useCollectorUrl } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button, ButtonLink } from "../../ui/controls/button.js";
import { CodeBlock } from "../../ui/data/code-block.js";
import { EmptyState, Failure } from "../../ui/feedback.js";
import { Tabs } from "../../ui/layout/tabs.js";

interface Snippet {
  readonly id: string;
  readonly label: string;
  readonly code: string;
}

/** How each client sends its first message to this collector with this key. */
function snippetsFor(baseUrl: string, writeKey: string): readonly Snippet[] {
  const host = baseUrl.replace(/^https?:\/\//, "");
  const protocol = baseUrl.startsWith("https:") ? "https" : "http";
  return [
    {
      id: "node",
      label: "Node",
      code: `// Install it as described in Sluice's README
import { Analytics } from "@sluice/node";

const analytics = new Analytics({ writeKey: "${writeKey}", host: "${baseUrl}" });
analytics.track({ userId: "42", event: "Signed Up", properties: { plan: "pro" } });
await analytics.close();`,
    },
    {
      id: "curl",
      label: "curl",
      code: `curl ${baseUrl}/v1/track -u ${writeKey}: \\
  -H 'content-type: application/json' \\
  -d '{"userId": "42", "event": "Signed Up", "properties": {"plan": "pro"}}'`,
    },
    {
      id: "segment-node",
      label: "Segment Node",
      code: `// npm install @segment/analytics-node
import { Analytics } from "@segment/analytics-node";

const analytics = new Analytics({ writeKey: "${writeKey}", host: "${baseUrl}" });
analytics.track({ userId: "42", event: "Signed Up", properties: { plan: "pro" } });
await analytics.closeAndFlush();`,
    },
    {
      id: "segment-browser",
      label: "Segment browser",
      code: `// npm install @segment/analytics-next
import { AnalyticsBrowser } from "@segment/analytics-next";

const analytics = AnalyticsBrowser.load(
  { writeKey: "${writeKey}", cdnURL: "${baseUrl}" },
  { integrations: { "Segment.io": { apiHost: "${host}/v1", protocol: "${protocol}" } } },
);
analytics.track("Signed Up", { plan: "pro" });`,
    },
    {
      id: "segment-python",
      label: "Segment Python",
      code: `# pip install segment-analytics-python
import segment.analytics as analytics

analytics.write_key = "${writeKey}"
analytics.host = "${baseUrl}"
analytics.track("42", "Signed Up", {"plan": "pro"})
analytics.shutdown()`,
    },
    {
      id: "segment-go",
      label: "Segment Go",
      code: `// go get gopkg.in/segmentio/analytics-go.v3
client, err := analytics.NewWithConfig("${writeKey}", analytics.Config{Endpoint: "${baseUrl}"})
if err != nil {
	log.Fatal(err)
}
client.Enqueue(analytics.Track{UserId: "42", Event: "Signed Up"})
client.Close()`,
    },
    {
      id: "segment-ruby",
      label: "Segment Ruby",
      code: `# gem install analytics-ruby
# The gem always uses TLS: put the collector behind https.
analytics = Segment::Analytics.new(write_key: "${writeKey}", host: "${host.replace(/:\d+$/, "")}")
analytics.track(user_id: "42", event: "Signed Up", properties: { plan: "pro" })
analytics.flush`,
    },
  ];
}

/** The placeholder in snippets if the token cannot see write keys. */
const NO_KEY = "WRITE_KEY";

/** The newest write key of a source, for snippets. A read-only token sees none. */
export function newestKey(source: SourceView | undefined): string {
  const newest = source?.writeKeys.at(-1);
  return newest === undefined || newest.isMasked ? NO_KEY : newest.key;
}

export function SnippetTabs({ writeKey }: { writeKey: string }) {
  const url = useCollectorUrl();
  return (
    <Tabs
      label="Client"
      prefix="snippet"
      tabs={snippetsFor(url, writeKey).map(({ id, label, code }) => ({
        id,
        label,
        content: <CodeBlock code={code} label={`${label} snippet`} />,
      }))}
    />
  );
}

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
