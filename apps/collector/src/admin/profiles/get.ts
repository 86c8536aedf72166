import { Type } from "@sinclair/typebox";
import type { Audiences } from "@sluice/audiences";
import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint.js";

const ProfileSchema = Type.Object({
  userId: Type.Optional(Type.String({ description: "Absent while the user is anonymous" })),
  anonymousId: Type.Optional(Type.String()),
  traits: Type.Record(Type.String(), Type.Unknown()),
  computedTraits: Type.Record(Type.String(), Type.Unknown()),
  audiences: Type.Array(
    Type.Object({
      id: Type.String(),
      key: Type.String(),
      member: Type.Boolean(),
      since: Type.String({ description: "Since when the user is in, or out" }),
    }),
  ),
  identities: Type.Object({ userIds: Type.Array(Type.String()), anonymousIds: Type.Array(Type.String()) }),
  leftOut: Type.Optional(
    Type.Object(
      { traits: Type.Integer(), ids: Type.Integer() },
      {
        description:
          "How many values of traits and how many ids came and were left out, because a profile holds at most 500 ids, 1,000 traits and 256 KB of both",
      },
    ),
  ),
  firstSeenAt: Type.String(),
  lastSeenAt: Type.String(),
});

export const getProfile = (audiences: Audiences) =>
  endpoint({
    name: "profiles.get",
    method: "GET",
    path: "/profiles/:userId",
    summary: "What is known of a user, by any id that the profile answers to",
    access: "read",
    answers: { status: 200, description: "The profile", schema: ProfileSchema },
    errors: ["not_found"],
    async handle({ params }) {
      const profile = await audiences.profile(params.userId ?? "");
      if (profile === undefined) throw new CollectorError("not_found", "there is no profile of this user");
      return { status: 200, body: profile };
    },
  });
