import {
  afterSync,
  type DefinitionState,
  goLive,
  isFlushDue,
  isResendDue,
  isScanned,
} from "../../definitions/definition-state.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";
import type { EngineState } from "../state/engine-state.js";
import { promote } from "../state/engine-state.js";
import { UNIT_PROFILES } from "../state/unit-runner.js";
import { publishHeld, publishToAdded } from "./publish-changes.js";
import { evaluateDefinition } from "./update-profile.js";

/** Work beside the log: evaluates profiles for new definitions, sends what was held, informs added destinations. */
export async function work(unit: UnitOfWork, loaded: EngineState): Promise<void> {
  const { nowMs } = unit;
  await evaluateNext(unit, loaded);
  for (const state of loaded.states.values()) {
    if (isFlushDue(state, nowMs)) await flushNext(unit, state);
    if (isResendDue(state)) await resendNext(unit, state);
  }
  promote(unit, loaded);
}

async function evaluateNext(unit: UnitOfWork, loaded: EngineState): Promise<void> {
  const scanned = [...loaded.states.values()].filter(isScanned);
  if (scanned.length === 0) return;
  const from = Math.min(...scanned.map((state) => state.evaluatedTo));
  const { profiles, isEnd } = await unit.scan(from, UNIT_PROFILES);
  for (const profile of profiles) {
    for (const state of scanned) {
      if (state.evaluatedTo >= profile.number || profile.number > state.evaluateUpTo) continue;
      evaluateDefinition(unit, loaded, profile, state.definition);
      state.evaluated += 1;
    }
  }
  const last = isEnd ? undefined : profiles.at(-1)?.number;
  for (const state of scanned) {
    state.evaluatedTo = last === undefined ? state.evaluateUpTo : Math.max(last, state.evaluatedTo);
    if (state.evaluatedTo >= state.evaluateUpTo) goLive(state, unit.nowMs);
    unit.putState(state);
  }
}

async function flushNext(unit: UnitOfWork, state: DefinitionState): Promise<void> {
  for (const profile of await unit.fetchHeld(state.definition.id, UNIT_PROFILES))
    publishHeld(unit, state, profile);
  if (state.held === 0) state.nextSyncAtMs = afterSync(state, unit.nowMs);
  unit.putState(state);
}

async function resendNext(unit: UnitOfWork, state: DefinitionState): Promise<void> {
  const [resend, ...others] = state.resends;
  if (resend === undefined) return;
  const { profiles, isEnd } = await unit.scan(resend.after, UNIT_PROFILES);
  for (const profile of profiles)
    publishToAdded(unit, state, profile, resend.destinationIds, resend.beforeSeq);
  const last = profiles.at(-1)?.number;
  state.resends = last === undefined || isEnd ? others : [{ ...resend, after: last }, ...others];
  unit.putState(state);
}
