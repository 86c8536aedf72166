import { type Static, Type } from "@sinclair/typebox";
import type { ReplayInput, ReplayView } from "@sluice/protocol";
import { replay } from "../../delivery/control/replay.js";
import { newId } from "../../documents/new-id.js";
import { findDestination } from "../destinations/find-destination.js";
import { requireTarget } from "../destinations/require-target.js";
import { endpoint } from "../endpoint.js";
import { timeParameters, timeSpan } from "../list-query.js";
import { FinalStateSchema } from "../messages/message-schema.js";
import type { SameShape } from "../same-shape.js";

const ReplayInputSchema = Type.Object(
  {
    filter: Type.Object(
      {
        destinationId: Type.String(),
        messageId: Type.Optional(Type.String()),
        type: Type.Optional(Type.String()),
        event: Type.Optional(Type.String()),
        userId: Type.Optional(Type.String()),
        state: Type.Optional(FinalStateSchema),
        ...timeParameters,
      },
      { additionalProperties: false },
    ),
    dryRun: Type.Optional(Type.Boolean({ description: "Count only. Default: false" })),
  },
  { additionalProperties: false },
);
const ReplaySchema = Type.Object({
  id: Type.Optional(Type.String({ description: "Absent on a dry run" })),
  count: Type.Integer({ description: "Messages that are (or would be) sent again" }),
});
const _input: SameShape<Static<typeof ReplayInputSchema>, ReplayInput> = true;
const _view: SameShape<Static<typeof ReplaySchema>, ReplayView> = true;

export const createReplay = endpoint({
  name: "replays.create",
  method: "POST",
  path: "/replays",
  summary: "Send messages that ended at a destination again, under the same message ids; or count them",
  access: "write",
  body: ReplayInputSchema,
  answers: { status: 201, description: "How many", schema: ReplaySchema },
  errors: ["not_found", "url_disabled"],
  async handle({ body: { filter, dryRun = false } }, { store, catalog, clock, delivery }) {
    const destination = await findDestination(store.config, filter.destinationId);
    requireTarget(destination, catalog);
    const destinationId = destination.id;
    const { from: _from, to: _to, ...rest } = filter;
    const { count } = await replay(
      { store, clock },
      { ...rest, ...timeSpan(filter), destinationId },
      { dryRun },
    );
    if (!dryRun) delivery.wake(destinationId);
    return {
      status: dryRun ? 200 : 201,
      body: dryRun ? { count } : { id: newId("rpl"), count },
      target: destinationId,
    };
  },
});
