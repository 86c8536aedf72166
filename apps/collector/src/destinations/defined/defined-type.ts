import { isIP, type Socket } from "node:net";
import { type Connect, type DefinedDestination, isIcon, type OpenDestination } from "@sluice/destination";
import type { Clock } from "@sluice/resilience";
import type { ResolveHost } from "../../sender/checked-connector.js";
import { type ConnectorOptions, checkedConnector } from "../../sender/checked-connector.js";
import type { EgressPolicy } from "../../sender/egress-policy.js";
import type { DestinationType, Flow } from "../destination.js";
import { oneLine } from "../one-line.js";
import type { SecretBox } from "../secret-box.js";
import { echoRedactor } from "../webhooks/request/redact-echo.js";
import { Attempts } from "./attempts.js";
import { describeDefined, openedSettings, parseDefined } from "./defined-settings.js";
import { deliverBatches, deliverMessages } from "./deliver.js";

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

/** Connections for destinations from outside, only where the policy allows. */
export function checkedConnect(options: ConnectorOptions): Connect {
  const connector = checkedConnector(options);
  return async ({ host, port, tls = false, ca, signal }) => {
    signal?.throwIfAborted();
    const aborted = Promise.withResolvers<never>();
    let opening: Socket | undefined;
    const abort = (): void => {
      opening?.destroy();
      aborted.reject(signal?.reason);
    };
    const connected = new Promise<Socket>((resolve, reject) =>
      connector(
        { hostname: host, host, port: String(port), protocol: "http:" },
        (socket) => {
          opening = socket;
        },
        (...[error, socket]) => (error === null ? resolve(socket) : reject(error)),
      ),
    );
    const ready = tls
      ? connected.then((socket) => secured(socket, { host, ca, timeoutMs: options.timeoutMs }))
      : connected;
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await Promise.race([ready, aborted.promise]);
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  };
}

interface Securing {
  readonly host: string;
  readonly ca: string | undefined;
  readonly timeoutMs: number;
}

async function secured(socket: Socket, { host, ca, timeoutMs }: Securing): Promise<Socket> {
  // Few destinations need it, and it takes time at the start.
  const { connect: connectTls, getCACertificates } = await import("node:tls");
  return new Promise((resolve, reject) => {
    const encrypted = connectTls({
      socket,
      minVersion: "TLSv1.2",
      rejectUnauthorized: true,
      ...(isIP(host) === 0 ? { servername: host } : { host }),
      ...(ca === undefined ? {} : { ca: [...getCACertificates(), ca] }),
    });
    const fail = (error: Error): void => {
      encrypted.destroy();
      reject(error);
    };
    const onTimeout = (): void =>
      fail(Object.assign(new Error(`No TLS connection within ${timeoutMs} ms`), { code: "ETIMEDOUT" }));
    encrypted.setTimeout(timeoutMs, onTimeout);
    // Without an error if the connection below it is destroyed.
    const onClose = (): void => fail(new Error("The connection was closed before it was encrypted"));
    encrypted.once("error", fail);
    encrypted.once("close", onClose);
    encrypted.once("secureConnect", () => {
      encrypted.setTimeout(0);
      encrypted.off("close", onClose);
      encrypted.off("timeout", onTimeout);
      encrypted.off("error", fail);
      resolve(encrypted);
    });
  });
}
