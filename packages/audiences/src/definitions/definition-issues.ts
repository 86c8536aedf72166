import type { ComputedTraitDefinition } from "@sluice/control-api";
import { DOCUMENT_KINDS, type Store } from "@sluice/event-log";
import { audienceKey, COMPUTED_TRAIT_KINDS, type Condition, validateCondition } from "@sluice/protocol";
import { audiencesNamed } from "../conditions/evaluate.js";
import { dependencyCycle } from "./definition-set.js";
import { AUDIENCE, type AudienceDocument } from "./definitions.js";

const LONGEST_NAME = 200;

/** What is wrong with one field of a definition. */
export interface DefinitionIssue {
  readonly code: string;
  readonly path: string;
  readonly message: string;
}

/** Checks a condition: its form, whether the audiences that it names exist, and whether the audience `id` would depend on itself. */
export async function conditionIssues(
  store: Pick<Store, "config">,
  id: string | undefined,
  condition: unknown,
): Promise<readonly DefinitionIssue[]> {
  const issues = validateCondition(condition);
  if (issues.length > 0) return issues;
  const audiences = await store.config.list<AudienceDocument>(AUDIENCE);
  const named = audiencesNamed(condition as Condition);
  const missing = named.filter(
    (other) => other !== id && !audiences.some((audience) => audience.id === other),
  );
  if (missing.length > 0)
    return missing.map((other) => ({
      code: "audience_unknown",
      path: "condition",
      message: `There is no audience ${other}`,
    }));
  if (id === undefined) return [];
  const path = dependencyCycle(
    id,
    named,
    audiences.map(({ id: other, value: document }) => ({ id: other, document })),
  );
  return path.length === 0
    ? []
    : [
        {
          code: "audience_circular",
          path: "condition",
          message: `The audience would depend on itself: ${path.join(" → ")}`,
        },
      ];
}

export function nameIssues(name: string): readonly DefinitionIssue[] {
  if (name.length > LONGEST_NAME)
    return [{ code: "name_too_long", path: "name", message: "A name has at most 200 characters" }];
  return audienceKey(name) === ""
    ? [
        {
          code: "name_without_key",
          path: "name",
          message: "A name needs a letter or a digit: the trait is named after it",
        },
      ]
    : [];
}

/** Checks what a computed trait's value is made of. */
export function computedIssues(input: ComputedTraitDefinition): readonly DefinitionIssue[] {
  const issues: DefinitionIssue[] = [];
  if (!COMPUTED_TRAIT_KINDS.includes(input.kind))
    issues.push({
      code: "kind_unknown",
      path: "kind",
      message: `It must be one of ${COMPUTED_TRAIT_KINDS.join(", ")}`,
    });
  else if (input.kind !== "count" && (input.property ?? "") === "")
    issues.push({
      code: "property_required",
      path: "property",
      message: "Every kind but count needs a property",
    });
  // An event condition has the same fields with the same bounds.
  const { event, withinMs } = input;
  for (const { code, path, message } of validateCondition({
    kind: "event",
    event,
    times: { atLeast: 1 },
    ...(withinMs === undefined ? {} : { withinMs }),
  }))
    issues.push({ code, path: path.replace("condition.", ""), message });
  return issues;
}

export async function destinationIssues(
  store: Pick<Store, "config">,
  destinationIds: readonly string[] = [],
): Promise<readonly DefinitionIssue[]> {
  const issues: DefinitionIssue[] = [];
  for (const [index, id] of destinationIds.entries())
    if ((await store.config.get(DOCUMENT_KINDS.destination, id)) === undefined)
      issues.push({
        code: "destination_unknown",
        path: `destinationIds[${index}]`,
        message: `There is no destination ${id}`,
      });
  return issues;
}
