import { Type } from "@sinclair/typebox";
import { anonymousIdentity, userIdentity } from "@sluice/event-log";
import type { Suppressions } from "../../documents/suppressions.js";
import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint.js";

export const liftSuppression = (suppressions: Suppressions) =>
  endpoint({
    name: "suppressions.lift",
    method: "DELETE",
    path: "/suppressions/:userId",
    summary: "Accept an id's messages again from now on, and those of the ids suppressed with it",
    access: "write",
    query: Type.Object(
      {
        by: Type.Optional(
          Type.Union([Type.Literal("userId"), Type.Literal("anonymousId"), Type.Literal("idHmac")], {
            description: "What the id in the path is. Default: `userId`",
          }),
        ),
      },
      { additionalProperties: false },
    ),
    answers: { status: 204, description: "It is lifted" },
    errors: ["not_found"],
    async handle({ params, query: { by = "userId" } }) {
      const id = params.userId ?? "";
      const wanted =
        by === "idHmac" ? { idHmac: id } : by === "userId" ? userIdentity(id) : anonymousIdentity(id);
      if (!(await suppressions.lift(wanted)))
        throw new CollectorError("not_found", `no suppression is stored under this ${by}`);
      return { status: 204 };
    },
  });
