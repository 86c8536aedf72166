import { BUGS_OF_APPLICATIONS } from "./bugs-of-applications.js";
import { BUGS_OF_DELIVERIES } from "./bugs-of-deliveries.js";
import { BUGS_OF_STORES } from "./bugs-of-stores.js";
import { BUGS_OF_THREADS } from "./bugs-of-threads.js";
import type { PlantedBug } from "./planted-bug.js";

export const PLANTED_BUGS: readonly PlantedBug[] = [
  ...BUGS_OF_APPLICATIONS,
  ...BUGS_OF_DELIVERIES,
  ...BUGS_OF_STORES,
  ...BUGS_OF_THREADS,
];
