import { INCIDENT_SOURCE_ID } from "@sluice/protocol";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { CurrentConfig } from "./current-config.js";
import { type Change, NOUNS } from "./plan-changes.js";

/** Throws for changes that cannot be made, before any is made. */
export function checkChanges(changes: readonly Change[], current: CurrentConfig): void {
  for (const change of changes) {
    if (change.action === "update" && change.section === "sources") checkFixedFields(change);
    if (change.action !== "delete") checkReferences(change, changes, current);
  }
}

function checkFixedFields({ name, fields }: Extract<Change, { readonly action: "update" }>): void {
  if ("kind" in fields)
    throw new CommandFailure(
      "usage",
      `The kind of the source ${name} is different, and a kind cannot be changed`,
      "Delete the source first",
    );
}

/** The fields in which items refer to others by name, with the section of those. */
const REFERENCES = {
  transformations: [],
  sources: [["transformation", "transformations"]],
  destinations: [
    ["sources", "sources"],
    ["transformation", "transformations"],
  ],
  audiences: [["destinations", "destinations"]],
} as const;

function checkReferences(
  { section, name, fields }: Exclude<Change, { readonly action: "delete" }>,
  changes: readonly Change[],
  current: CurrentConfig,
): void {
  for (const [field, target] of REFERENCES[section]) {
    const wanted = [fields[field] ?? []].flat();
    const known = namesAfter(target, changes, current);
    const missing = wanted.find((one) => !known.includes(one as string));
    if (missing !== undefined)
      throw new CommandFailure(
        "usage",
        `${section}: ${name} refers to the ${NOUNS[target]} ${missing}, which does not exist`,
        "Declare it in the file, or correct its name",
      );
  }
}

/** The names in a section after the changes. */
function namesAfter(
  section: "transformations" | "sources" | "destinations",
  changes: readonly Change[],
  current: CurrentConfig,
): string[] {
  const names = (action: Change["action"]) =>
    changes.filter((one) => one.section === section && one.action === action).map(({ name }) => name);
  const deleted = names("delete");
  const kept = [...current[section].map(({ name }) => name), ...names("create")].filter(
    (name) => !deleted.includes(name),
  );
  return section === "sources" ? [...kept, INCIDENT_SOURCE_ID] : kept;
}
