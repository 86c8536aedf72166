import { useInfo } from "../api/queries.js";
import { exactTime } from "../words/times.js";

/** Which collector this is, and whether it answers and can write. */
export function CollectorBadge() {
  const { data, isError } = useInfo();
  if (isError) return <BadgeLine tone="bad" text="Collector does not answer" />;
  if (data === undefined) return <BadgeLine tone="quiet" text="Asking the collector…" />;
  if (data.storage.kind === "unavailable") return <BadgeLine tone="bad" text="Disk cannot be written" />;
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
