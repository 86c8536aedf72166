import { Type } from "@sinclair/typebox";
import { endpoint } from "../endpoint.js";
import { listOf, listParameters, pageOf, pageRequest, timeParameters, timeSpan } from "../list-query.js";
import { RejectedMessageSchema, rejectedView } from "./message-schema.js";

export const listRejected = endpoint({
  name: "messages.listRejected",
  method: "GET",
  path: "/rejected-messages",
  summary: "Messages that were refused, newest first, with what is wrong with each",
  access: "read",
  query: Type.Object(
    {
      messageId: Type.Optional(Type.String()),
      sourceId: Type.Optional(Type.String()),
      ...timeParameters,
      ...listParameters,
    },
    { additionalProperties: false },
  ),
  answers: { status: 200, description: "A page of refused messages", schema: listOf(RejectedMessageSchema) },
  async handle({ query }, { store }) {
    const { messageId, sourceId } = query;
    const page = await store.rejections.find(
      {
        ...(messageId === undefined ? {} : { messageId }),
        ...(sourceId === undefined ? {} : { sourceId }),
        ...timeSpan(query),
      },
      pageRequest(query),
    );
    return { status: 200, body: pageOf(page, rejectedView) };
  },
});
