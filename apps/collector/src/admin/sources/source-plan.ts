import type { SourcePlanInput, SourcePlanView } from "@sluice/control-api";
import { type ConfigStore, DOCUMENT_KINDS, type Versioned } from "@sluice/event-log";
import { formatTime, PLAN_LIMITS, readPlan } from "@sluice/protocol";
import type { SourcePlanDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";

type StoredPlan = Versioned<SourcePlanDocument>;

export function planView({ version, value }: StoredPlan): SourcePlanView {
  const { mode, plan, updatedAt } = value;
  return { mode, plan, updatedAt, version };
}

export async function findPlan(config: ConfigStore, sourceId: string): Promise<StoredPlan> {
  const found = await config.get<SourcePlanDocument>(DOCUMENT_KINDS.sourcePlan, sourceId);
  if (found === undefined) throw noPlan();
  return found;
}

/** Checks the plan and stores it, so that every plan that is stored can be used. */
export async function setPlan(
  config: ConfigStore,
  sourceId: string,
  { plan, mode }: SourcePlanInput,
  { ifMatch, nowMs }: { readonly ifMatch: number | undefined; readonly nowMs: number },
): Promise<StoredPlan> {
  checkPlan(plan);
  const present = await config.get<SourcePlanDocument>(DOCUMENT_KINDS.sourcePlan, sourceId);
  const version = present?.version ?? 0;
  if (ifMatch !== undefined && ifMatch !== version)
    throw new CollectorError("precondition_failed", `it is at version ${version}`, { details: { version } });
  const document: SourcePlanDocument = {
    mode: mode ?? present?.value.mode ?? "report",
    plan,
    updatedAt: formatTime(nowMs),
  };
  return config.put(DOCUMENT_KINDS.sourcePlan, sourceId, document, version);
}

export async function removePlan(config: ConfigStore, sourceId: string): Promise<void> {
  if (!(await config.delete(DOCUMENT_KINDS.sourcePlan, sourceId))) throw noPlan();
}

function noPlan(): CollectorError {
  return new CollectorError("not_found", "the source has no tracking plan");
}

/** Throws `invalid_request` with every mistake that was found. */
function checkPlan(plan: SourcePlanInput["plan"]): void {
  const bytes = Buffer.byteLength(JSON.stringify(plan));
  if (bytes > PLAN_LIMITS.bytes)
    throw new CollectorError(
      "invalid_request",
      `plan: it has ${bytes} bytes; the most are ${PLAN_LIMITS.bytes}`,
    );
  const reading = readPlan(plan);
  if (reading.kind === "plan") return;
  const issues = reading.issues.map(({ path, message }) => ({ path: `plan${path}`, message }));
  const [first] = reading.issues;
  throw new CollectorError("invalid_request", `plan${first.path}: ${first.message}`, { details: { issues } });
}
