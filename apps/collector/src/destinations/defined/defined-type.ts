import { type DefinedDestination, isIcon, type OpenDestination } from "@sluice/destination";
import type { Clock } from "@sluice/resilience";
import type { ResolveHost } from "../../sender/checked-connector.js";
import type { EgressPolicy } from "../../sender/egress-policy.js";
import type { DestinationType, Flow } from "../destination.js";
import { oneLine } from "../one-line.js";
import type { SecretBox } from "../secret-box.js";
import { echoRedactor } from "../webhooks/request/redact-echo.js";
import { Attempts } from "./attempts.js";
import { checkedConnect } from "./checked-connect.js";
import { describeDefined, openedSettings, parseDefined } from "./defined-settings.js";
import { deliverBatches } from "./deliver-batches.js";
import { deliverMessages } from "./deliver-messages.js";

export interface DefinedDeps {
  readonly clock: Clock;
  readonly secrets: SecretBox;
  readonly egress: EgressPolicy;
  readonly resolve: ResolveHost;
  readonly log: (level: "info" | "warn", text: string, fields: { readonly destinationType: string }) => void;
}

const TIMEOUT_MS = 30_000;
const MOST_LOGGED = 1_000;
const ONE_BY_ONE: Flow = { concurrency: 1, order: "none" };

/** The destination type that a definition describes. The definition only sends; everything around it is done here. */
export function definedType({ definition }: DefinedDestination, deps: DefinedDeps): DestinationType {
  const { clock } = deps;
  const {
    type,
    name,
    settings: schema,
    maxAgeMs,
    takesDeletions = "none",
    timeoutMs = TIMEOUT_MS,
  } = definition;
  return {
    type,
    name,
    ...(definition.description === undefined ? {} : { description: definition.description }),
    // A package may come without the check of defineDestination.
    ...(isIcon(definition.icon) ? { icon: definition.icon } : {}),
    mode: "cloud",
    sources: ["web", "mobile", "server"],
    historical: maxAgeMs === undefined ? { accepted: true } : { accepted: false, limitMs: maxAgeMs },
    takesDeletions,
    settingsSchema: schema,
    parseSettings: (input, previous) => parseDefined(definition, input, previous, deps.secrets),
    describe: (settings) => describeDefined(schema, settings),
    async open(stored) {
      const { settings, secretTexts } = openedSettings(schema, stored, deps.secrets);
      const redact = echoRedactor(secretTexts);
      const open = await definition.open(settings as never, {
        connect: checkedConnect({ policy: deps.egress, resolve: deps.resolve, timeoutMs }),
        now: clock.now,
        log: (level, text) => deps.log(level, oneLine(redact(text), MOST_LOGGED), { destinationType: type }),
      });
      const target = definition.target?.(settings as never) ?? `${type}:`;
      const parts = {
        attempts: new Attempts({ clock, redact, timeoutMs, target }),
        flow: definition.flow?.(settings as never) ?? ONE_BY_ONE,
        release: () => releaseInTime(open, clock, timeoutMs),
      };
      if (!("deliverBatch" in open)) return deliverMessages(open, parts);
      return deliverBatches(open, { ...parts, clock, limits: definition.batch?.(settings as never) ?? {} });
    },
  };
}

/** Ends at the time limit, whatever the definition does. */
async function releaseInTime(open: OpenDestination, clock: Clock, timeoutMs: number): Promise<void> {
  const late = Promise.withResolvers<void>();
  const cancel = clock.after(timeoutMs, late.resolve);
  await Promise.race([Promise.resolve(open.close?.()).catch(() => {}), late.promise]);
  cancel();
}
