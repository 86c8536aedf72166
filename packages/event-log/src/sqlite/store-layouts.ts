import { DATABASE_FILE } from "./database/database-files.js";
import { SCHEMA_STEPS } from "./database/schema.js";
import { PROFILES_LAYOUT } from "./profiles/profiles.js";
import { PROFILES_FILE } from "./profiles/profiles-file.js";

/** The newest layout of each database that this version can open. */
export const STORE_LAYOUTS: { readonly [file: string]: number } = {
  [DATABASE_FILE]: SCHEMA_STEPS.length,
  [PROFILES_FILE]: PROFILES_LAYOUT,
};
