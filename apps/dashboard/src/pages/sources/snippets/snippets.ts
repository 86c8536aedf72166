import type { SourceView } from "@sluice/control-api";

export interface Snippet {
  readonly id: string;
  readonly label: string;
  readonly code: string;
}

/** How each client sends its first message to this collector with this key. */
export function snippetsFor(baseUrl: string, writeKey: string): readonly Snippet[] {
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
export const NO_KEY = "WRITE_KEY";

/** The newest write key of a source, for snippets. A read-only token sees none. */
export function newestKey(source: SourceView | undefined): string {
  const newest = source?.writeKeys.at(-1);
  return newest === undefined || newest.isMasked ? NO_KEY : newest.key;
}
