import { readFileSync } from "node:fs";
import { join } from "node:path";

export type Language = "Python" | "Go" | "Java" | "Rust";

export interface Client {
  readonly id: string;
  readonly vendor: "Segment" | "RudderStack";
  readonly language: Language;
  readonly package: string;
  readonly version: string;
  /** Run in this folder. */
  readonly command: readonly string[];
  /** How many messages the program's `calls` send. */
  readonly calls: number;
  /** Fields that arrive with another value than was given, and why. */
  readonly changes: Readonly<Record<string, string>>;
}

const read = (path: string): string => readFileSync(join(import.meta.dirname, path), "utf8");

function pinned(file: string, pattern: RegExp): string {
  const [, version] = pattern.exec(read(file)) ?? [];
  if (version === undefined) throw new Error(`${file} pins no ${pattern.source}`);
  return version;
}

const python = (vendor: Client["vendor"], name: string): Client => ({
  id: `python-${vendor}`.toLowerCase(),
  vendor,
  language: "Python",
  package: name,
  version: pinned("python/requirements.txt", new RegExp(`^${name}==(.+)$`, "m")),
  command: ["python/.venv/bin/python", "python/send.py", vendor.toLowerCase()],
  calls: 7,
  changes: { "Local Time.timestamp": "takes a `datetime` without a zone for UTC" },
});

const go = (vendor: Client["vendor"], name: string): Client => ({
  id: `go-${vendor}`.toLowerCase(),
  vendor,
  language: "Go",
  package: name,
  version: pinned("go/go.mod", new RegExp(`^\\s*${name} v(.+)$`, "m")),
  command: [`go/bin/${vendor.toLowerCase()}`],
  calls: 7,
  changes: {},
});

const java = (vendor: Client["vendor"], group: string): Client => ({
  id: `java-${vendor}`.toLowerCase(),
  vendor,
  language: "Java",
  package: `${group}:analytics`,
  version: pinned("java/pom.xml", new RegExp(`<groupId>${group}</groupId>[^]*?<version>(.+?)</version>`)),
  command: ["java", "-XX:TieredStopAtLevel=1", "-cp", "java/target/lib/*:java/target/classes", vendor],
  calls: 6,
  changes: {},
});

export const CLIENTS: readonly Client[] = [
  python("Segment", "segment-analytics-python"),
  python("RudderStack", "rudder-sdk-python"),
  go("Segment", "github.com/segmentio/analytics-go/v3"),
  go("RudderStack", "github.com/rudderlabs/analytics-go/v4"),
  java("Segment", "com.segment.analytics.java"),
  java("RudderStack", "com.rudderstack.sdk.java.analytics"),
  {
    id: "rust-rudderstack",
    vendor: "RudderStack",
    language: "Rust",
    package: "rudderanalytics",
    version: pinned("rust/Cargo.toml", /^rudderanalytics = \{ version = "=(.+?)"/m),
    command: ["rust/bin/rudderstack"],
    calls: 6,
    changes: {},
  },
];
