import { type Static, Type } from "@sinclair/typebox";
import type { Audiences } from "@sluice/audiences";
import type { AudienceEngineView } from "@sluice/protocol";
import { endpoint } from "../endpoint.js";
import type { SameShape } from "../same-shape.js";

const AudienceEngineSchema = Type.Object({
  behind: Type.Integer({ description: "Messages of the log that are not counted yet" }),
  setAside: Type.Array(
    Type.Object({
      messageId: Type.Optional(Type.String({ description: "Absent where the whole request cannot be read" })),
      sourceId: Type.String(),
      receivedAt: Type.String(),
      messages: Type.Integer({ description: "1, or the messages of a request that cannot be read" }),
    }),
    {
      description:
        "Messages that are not counted, because the engine failed over them again and again; oldest first, the latest 1,000",
    },
  ),
});
const _engine: SameShape<Static<typeof AudienceEngineSchema>, AudienceEngineView> = true;

export const getAudienceEngine = (audiences: Audiences) =>
  endpoint({
    name: "audiences.engine",
    method: "GET",
    path: "/audience-engine",
    summary:
      "How far the evaluation of audiences and computed traits is, and which messages it does not count",
    access: "read",
    answers: { status: 200, description: "The engine's state", schema: AudienceEngineSchema },
    handle: async () => ({ status: 200, body: await audiences.engine() }),
  });
