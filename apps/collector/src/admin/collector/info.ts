import { type Static, Type } from "@sinclair/typebox";
import { type CollectorInfo, formatTime, REGIONS } from "@sluice/protocol";
import { endpoint } from "../endpoint.js";
import type { SameShape } from "../same-shape.js";
import { TokenSchema } from "../tokens/token-schema.js";

const CollectorInfoSchema = Type.Object({
  version: Type.String(),
  mode: Type.Union([Type.Literal("dev"), Type.Literal("production")]),
  region: Type.Optional(
    Type.Union(
      REGIONS.map((region) => Type.Literal(region)),
      { description: "Absent where no region is configured" },
    ),
  ),
  node: Type.String(),
  startedAt: Type.String(),
  now: Type.String({ description: "The collector's clock" }),
  storage: Type.Union([
    Type.Object({ kind: Type.Literal("ready") }),
    Type.Object({ kind: Type.Literal("unavailable"), reason: Type.String(), since: Type.String() }),
  ]),
  token: TokenSchema,
});
const _info: SameShape<Static<typeof CollectorInfoSchema>, CollectorInfo> = true;

export const collectorInfo = endpoint({
  name: "collector.info",
  method: "GET",
  path: "/info",
  summary: "The collector's version, mode, region and health, and the token that asks",
  access: "read",
  answers: { status: 200, description: "What answers here", schema: CollectorInfoSchema },
  handle({ token }, { store, clock, mode, region, startedAtMs, version }) {
    const health = store.health();
    const info: CollectorInfo = {
      version,
      mode,
      ...(region === undefined ? {} : { region }),
      node: process.versions.node,
      startedAt: formatTime(startedAtMs),
      now: formatTime(clock.now()),
      storage:
        health.kind === "ready"
          ? health
          : { kind: "unavailable", reason: health.reason, since: formatTime(health.sinceMs) },
      token,
    };
    return { status: 200, body: info };
  },
});
