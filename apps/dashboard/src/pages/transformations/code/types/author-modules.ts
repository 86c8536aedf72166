import { planTypes, readPlan } from "@sluice/protocol";
// @boundaries-ignore they are made of these
import messages from "../../../../../../../packages/protocol/src/messages/message.ts?raw";
// @boundaries-ignore the editor shows the types that authors have elsewhere
import author from "../../../../../../../packages/transformations/src/author.ts?raw";

const UNPLANNED = "Message<Plan = unknown>";

/** The modules that code may import, by name. Messages of plans are those that `Message` stands for. */
export function authorModules(plans: readonly unknown[]): { readonly [name: string]: string } {
  const types = plans.flatMap((given) => {
    const reading = readPlan(given);
    return reading.kind === "plan" ? [planTypes(reading.plan, { typeName: "Plan", head: "" })] : [];
  });
  const names = types.map((_, index) => `@sluice/plan-${index + 1}`);
  const union = names.map((name) => `import("${name}").Plan`).join(" | ");
  if (!author.includes(UNPLANNED))
    throw new Error("The types of authors have changed: look for the plan in Message");
  return {
    "@sluice/protocol": messages,
    "@sluice/transformations": author.replace(UNPLANNED, `Message<Plan = ${union || "unknown"}>`),
    ...Object.fromEntries(types.map((text, index) => [names[index], text])),
  };
}
