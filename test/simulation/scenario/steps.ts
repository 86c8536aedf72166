import type { Random } from "../world/random.js";
import type { Cast } from "./cast.js";
import type { Scenario } from "./scenario.js";
import { type ApplicationStep, applicationSteps } from "./steps/application.js";
import { type AudienceStep, audienceSteps } from "./steps/audience.js";
import { type ClockStep, clockSteps } from "./steps/clock.js";
import { type ClusterStep, clusterSteps } from "./steps/cluster.js";
import { type CrashStep, crashSteps } from "./steps/crash.js";
import { type DeletionStep, deletionSteps } from "./steps/deletion.js";
import { type DiskStep, diskSteps } from "./steps/disk.js";
import { type FrontStep, frontSteps } from "./steps/front.js";
import { type ImportStep, importSteps } from "./steps/import.js";
import { type MessagesStep, messagesSteps } from "./steps/messages.js";
import { type NetworkStep, networkSteps } from "./steps/network.js";
import { type OperationStep, operationSteps } from "./steps/operation.js";
import { type RaceStep, raceSteps } from "./steps/race.js";
import { type ReceiverStep, receiverSteps } from "./steps/receiver.js";
import { type RetentionStep, retentionSteps } from "./steps/retention.js";
import { type SettingsStep, settingsSteps } from "./steps/settings.js";
import { type SourceStep, sourceSteps } from "./steps/source.js";
import { type StopStep, stopSteps } from "./steps/stop.js";
import { type TransformationStep, transformationSteps } from "./steps/transformation.js";
import { type WarehouseStep, warehouseSteps } from "./steps/warehouse.js";
import { type WorkerStep, workerSteps } from "./steps/worker.js";

/** One thing that happens in a run. */
export type Step =
  | MessagesStep
  | ReceiverStep
  | NetworkStep
  | CrashStep
  | StopStep
  | ClockStep
  | DiskStep
  | SettingsStep
  | ImportStep
  | AudienceStep
  | DeletionStep
  | OperationStep
  | RetentionStep
  | ClusterStep
  | RaceStep
  | ApplicationStep
  | SourceStep
  | TransformationStep
  | FrontStep
  | WarehouseStep
  | WorkerStep;

/**
 * A kind of step. To add one: write a file in `steps/`, add its type to `Step`, and the kind to `STEP_KINDS`.
 */
export interface StepKind<Kind extends Step> {
  readonly kind: Kind["kind"];
  /** Makes the steps of this kind for a scenario that lasts `lengthMs`. */
  plan(random: Random, scenario: Scenario, lengthMs: number): Kind[];
  /** Does the step. It must not wait: what takes time is put on the world's agenda. */
  run(step: Kind, cast: Cast): void;
}

export const STEP_KINDS: readonly StepKind<never>[] = [
  messagesSteps,
  receiverSteps,
  networkSteps,
  crashSteps,
  stopSteps,
  clockSteps,
  diskSteps,
  settingsSteps,
  importSteps,
  audienceSteps,
  deletionSteps,
  operationSteps,
  retentionSteps,
  clusterSteps,
  raceSteps,
  applicationSteps,
  sourceSteps,
  transformationSteps,
  frontSteps,
  warehouseSteps,
  workerSteps,
] as unknown as readonly StepKind<never>[];

export function runStep(step: Step, cast: Cast): void {
  const kind = STEP_KINDS.find((candidate) => candidate.kind === step.kind);
  if (kind === undefined) throw new Error(`There is no step of the kind ${step.kind}`);
  (kind as unknown as StepKind<Step>).run(step, cast);
}
