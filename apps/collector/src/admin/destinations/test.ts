import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint.js";
import { attemptView } from "../messages/outcomes.js";
import { TestSendSchema } from "./destination-schema.js";

export const testDestination = endpoint({
  name: "destinations.test",
  method: "POST",
  path: "/destinations/:id/test",
  summary: "Send one made-up message through the real path, once, and tell how it ended",
  access: "write",
  answers: { status: 200, description: "How it ended", schema: TestSendSchema },
  errors: ["not_found"],
  async handle({ params }, { delivery }) {
    const sent = await delivery.test(params.id ?? "");
    if (sent === undefined) throw new CollectorError("not_found", `no destination has the id ${params.id}`);
    const attempts = sent.attempts.map((attempt) => attemptView(attempt, sent.messageId));
    return { status: 200, body: { ...sent, attempts } };
  },
});
