import type { Audiences } from "@sluice/audiences";
import { createComputedTrait } from "../computed-traits/create.js";
import { deleteComputedTrait } from "../computed-traits/delete.js";
import { getComputedTrait } from "../computed-traits/get.js";
import { listComputedTraits } from "../computed-traits/list.js";
import { patchComputedTrait } from "../computed-traits/patch.js";
import { previewComputedTrait } from "../computed-traits/preview.js";
import { listValues } from "../computed-traits/values.js";
import { whyValue } from "../computed-traits/why.js";
import type { Endpoint } from "../endpoint.js";
import { getProfile } from "../profiles/get.js";
import { createAudience } from "./create.js";
import { deleteAudience } from "./delete.js";
import { getAudienceEngine } from "./engine.js";
import { getAudience } from "./get.js";
import { listAudiences } from "./list.js";
import { listMembers } from "./members.js";
import { patchAudience } from "./patch.js";
import { previewAudience } from "./preview.js";
import { whyInAudience } from "./why.js";

/** The endpoints of audiences, computed traits and profiles, for `adminRoutes`. */
export function audienceEndpoints(audiences: Audiences): Endpoint[] {
  return [
    createAudience,
    listAudiences,
    previewAudience,
    getAudience,
    patchAudience,
    deleteAudience,
    listMembers,
    whyInAudience,
    createComputedTrait,
    listComputedTraits,
    previewComputedTrait,
    getComputedTrait,
    patchComputedTrait,
    deleteComputedTrait,
    listValues,
    whyValue,
    getProfile,
    getAudienceEngine,
  ].map((make) => make(audiences));
}
