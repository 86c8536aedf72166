import { useInfo } from "../api/queries.js";
import { exactTime } from "../words/times.js";

/** The mode and region of the collector, and whether it works. */
export function CollectorBadge() {
  const { data, isError } = useInfo();
  if (isError) return <BadgeLine tone="bad" text="Collector unreachable" />;
  if (data === undefined) return <BadgeLine tone="quiet" text="Connecting…" />;
  if (data.storage.kind === "unavailable") return <BadgeLine tone="bad" text="Disk not writable" />;
  return (
    <BadgeLine
      tone="good"
      text={[data.mode === "dev" ? "Dev" : "Production", data.region].filter(Boolean).join(" · ")}
      title={`Version ${data.version} on Node ${data.node}, since ${exactTime(data.startedAt)}`}
    />
  );
}

function BadgeLine({ tone, text, title }: { tone: string; text: string; title?: string }) {
  return (
    <p className={`collector-badge tone-${tone}`} title={title}>
      <span className="dot" aria-hidden="true" />
      {text}
    </p>
  );
}
