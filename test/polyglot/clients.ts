import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TrialName } from "./trials.ts";

export type Language = "Python" | "Go" | "Java" | "Rust";

export interface Client {
  readonly id: string;
  readonly vendor: "Segment" | "RudderStack" | "PostHog";
  readonly language: Language;
  readonly package: string;
  readonly version: string;
  /** Run in this folder. */
  readonly command: readonly string[];
  /** How many messages the program's `calls` send. */
  readonly calls: number;
  /** Fields that arrive with another value than was given, and why. */
  readonly changes: Readonly<Record<string, string>>;
  /** It cannot tell the program what it has lost. */
  readonly isSilent?: boolean;
  /** Settings of the guide that avoid a fault, by the trial that shows it. */
  readonly helps?: Readonly<Partial<Record<TrialName, string>>>;
}

const read = (path: string): string => readFileSync(join(import.meta.dirname, path), "utf8");

function pinned(file: string, pattern: RegExp): string {
  const [, version] = pattern.exec(read(file)) ?? [];
  if (version === undefined) throw new Error(`${file} pins no ${pattern.source}`);
  return version;
}

const python = (vendor: Client["vendor"], name: string, more: Pick<Client, "changes" | "helps">): Client => ({
  id: `python-${vendor}`.toLowerCase(),
  vendor,
  language: "Python",
  package: name,
  version: pinned("python/requirements.txt", new RegExp(`^${name}==(.+)$`, "m")),
  command: [
    "python/.venv/bin/python",
    ...(vendor === "PostHog" ? ["python/posthog_send.py"] : ["python/send.py", vendor.toLowerCase()]),
  ],
  calls: 7,
  ...more,
});

const go = (vendor: Client["vendor"], name: string, helps: Client["helps"] = {}): Client => ({
  id: `go-${vendor}`.toLowerCase(),
  vendor,
  language: "Go",
  package: name,
  version: pinned("go/go.mod", new RegExp(`^\\s*${name} v(.+)$`, "m")),
  command: [`go/bin/${vendor.toLowerCase()}`],
  calls: 7,
  changes: {},
  helps: { closedInTrouble: "Callback.Success", status429: "RetryAfter", ...helps },
});

const java = (
  vendor: Client["vendor"],
  group: string,
  artifact: string,
  more: Pick<Client, "helps" | "isSilent"> = {},
): Client => ({
  id: `java-${vendor}`.toLowerCase(),
  vendor,
  language: "Java",
  package: `${group}:${artifact}`,
  version: pinned("java/pom.xml", new RegExp(`<groupId>${group}</groupId>[^]*?<version>(.+?)</version>`)),
  command: ["java", "-XX:TieredStopAtLevel=1", "-cp", "java/target/lib/*:java/target/classes", vendor],
  calls: 6,
  changes: {},
  ...more,
});

const rust = (vendor: Client["vendor"], name: string, helps: Client["helps"]): Client => ({
  id: `rust-${vendor}`.toLowerCase(),
  vendor,
  language: "Rust",
  package: name,
  version: pinned("rust/Cargo.toml", new RegExp(`^${name} = \\{ version = "=(.+?)"`, "m")),
  command: [`rust/bin/${vendor.toLowerCase()}`],
  calls: 6,
  changes: {},
  ...(helps === undefined ? {} : { helps }),
});

/** What Python's clients do with the time of a machine that is not in UTC. */
const ZONELESS = { "Local Time.timestamp": "takes a `datetime` without a zone for UTC" };

export const CLIENTS: readonly Client[] = [
  python("Segment", "segment-analytics-python", {
    changes: ZONELESS,
    helps: { calls: "times with a zone" },
  }),
  python("RudderStack", "rudder-sdk-python", {
    changes: ZONELESS,
    helps: { calls: "times with a zone", large: "upload_size=15" },
  }),
  python("PostHog", "posthog", {
    changes: ZONELESS,
    helps: { calls: "times with a zone", large: "flush_at=15", restart: "max_retries=10" },
  }),
  go("Segment", "github.com/segmentio/analytics-go/v3"),
  go("RudderStack", "github.com/rudderlabs/analytics-go/v4", { calls: "AnonymousId" }),
  go("PostHog", "github.com/posthog/posthog-go", { batches: "Uuid" }),
  java("Segment", "com.segment.analytics.java", "analytics"),
  java("RudderStack", "com.rudderstack.sdk.java.analytics", "analytics", {
    helps: { afterTooLarge: "Thread.interrupted()" },
  }),
  java("PostHog", "com.posthog", "posthog-server", {
    isSilent: true,
    helps: { large: "maxBatchSize(15)" },
  }),
  rust("RudderStack", "rudderanalytics", { outage: "load_with_retry_config" }),
  rust("PostHog", "posthog-rs", {
    large: "max_batch_size",
    restart: "max_capture_attempts",
    closedInTrouble: "flush()",
  }),
];
