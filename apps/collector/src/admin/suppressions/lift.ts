import { CollectorError } from "../../errors.js";
import type { Suppressions } from "../../store/suppressions.js";
import { endpoint } from "../endpoint.js";

export const liftSuppression = (suppressions: Suppressions) =>
  endpoint({
    name: "suppressions.lift",
    method: "DELETE",
    path: "/suppressions/:userId",
    summary: "Take a user's messages again from now on; what came meanwhile stays refused",
    access: "write",
    answers: { status: 204, description: "It is lifted" },
    errors: ["not_found"],
    async handle({ params }) {
      if (!(await suppressions.lift(params.userId ?? "")))
        throw new CollectorError("not_found", "this user is not suppressed");
      return { status: 204 };
    },
  });
