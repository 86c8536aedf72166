import { type Static, Type } from "@sinclair/typebox";
import type { CreatedTokenView, TokenView } from "@sluice/protocol";
import type { SameShape } from "../same-shape.js";

export const AccessSchema = Type.Union([Type.Literal("full"), Type.Literal("read")]);

const token = {
  id: Type.String(),
  name: Type.String(),
  access: AccessSchema,
  createdAt: Type.String(),
};
export const TokenSchema = Type.Object(token);
export const CreatedTokenSchema = Type.Object({
  ...token,
  token: Type.String({ description: "Shown this once: only its hash is kept" }),
});

const _token: SameShape<Static<typeof TokenSchema>, TokenView> = true;
const _created: SameShape<Static<typeof CreatedTokenSchema>, CreatedTokenView> = true;
