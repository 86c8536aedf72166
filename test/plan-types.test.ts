import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { planTypes, readPlan } from "../packages/protocol/src/index.js";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** What `tsc` prints about a file in this folder, one text for each error. */
function errorsOf(lines: readonly string[]): string[] {
  const file = at("calls.ts");
  const text = lines.join("\n");
  const options: ts.CompilerOptions = {
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    paths: { "@sluice/protocol": [at("../packages/protocol/src/index.ts")] },
    skipLibCheck: true,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const { fileExists, getSourceFile } = host;
  host.fileExists = (name) => name === file || fileExists(name);
  host.getSourceFile = (name, version, ...rest) =>
    name === file ? ts.createSourceFile(name, text, version) : getSourceFile(name, version, ...rest);
  const program = ts.createProgram([file], options, host);
  const source = program.getSourceFile(file);
  return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
    ({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"),
  );
}

const CALLS = [
  'import type { AliasCall, IdentifyCall, TrackCall, View } from "../packages/core/src/index.js";',
  "declare const track: (call: TrackCall<Plan>) => void;",
  "declare const identify: (call: IdentifyCall<Plan>) => void;",
  "declare const alias: (call: AliasCall<Plan>) => void;",
  'declare const page: View<Plan, "page", void>;',
];
const PLAN = {
  $defs: { Address: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } },
  track: {
    "Order Completed": {
      type: "object",
      properties: {
        total: { type: "number" },
        currency: { enum: ["EUR", "USD"] },
        paidAt: { type: "string", format: "date-time" },
        to: { $ref: "#/$defs/Address" },
      },
      required: ["total"],
    },
    "Signed Out": {},
  },
  page: { Docs: { type: "object", properties: { section: { type: "string" } }, required: ["section"] } },
  identify: { type: "object", properties: { email: { type: "string" } }, required: ["email"] },
  alias: { type: "object", properties: { previousId: { type: "string" } }, required: ["previousId"] },
};

function plan(): string {
  const reading = readPlan(PLAN);
  if (reading.kind === "invalid") throw new Error(JSON.stringify(reading.issues));
  return planTypes(reading.plan, { typeName: "Plan", head: "Made" });
}

describe("what TypeScript says about a call that the plan does not allow", () => {
  const cases: [name: string, call: string, says: string, not: string][] = [
    [
      "properties are missing beside a userId",
      'track({ userId: "u", event: "Order Completed" });',
      "Property 'properties' is missing",
      "anonymousId' is missing",
    ],
    [
      "properties are missing beside an anonymousId",
      'track({ anonymousId: "a", event: "Order Completed" });',
      "Property 'properties' is missing",
      "userId' is missing",
    ],
    [
      "a page's properties are missing",
      'page({ userId: "u", name: "Docs" });',
      "Property 'properties' is missing",
      "anonymousId' is missing",
    ],
    [
      "a property is missing",
      'track({ userId: "u", event: "Order Completed", properties: {} });',
      "Property 'total' is missing",
      "anonymousId' is missing",
    ],
    [
      "the user is missing",
      'track({ event: "Order Completed", properties: { total: 1 } });',
      "Property 'anonymousId' is missing",
      "'properties' is missing",
    ],
    ["the name is not planned", 'track({ userId: "u", event: "Signed In" });', '"Signed In"', "is missing"],
    [
      "a value is not in the list",
      'track({ userId: "u", event: "Order Completed", properties: { total: 1, currency: "CHF" } });',
      '"CHF"',
      "is missing",
    ],
    [
      "a property is not planned",
      'track({ userId: "u", event: "Order Completed", properties: { total: 1, tax: 2 } });',
      "'tax'",
      "is missing",
    ],
    ["a trait has another type", 'identify({ userId: "u", traits: { email: 5 } });', "'number'", "missing"],
    ["an id has another type", 'alias({ userId: "u", previousId: 5 });', "'number'", "missing"],
  ];
  const errors = errorsOf([...CALLS, plan(), ...cases.map(([, call]) => call)]);

  it("is one error for each call", () => expect(errors).toHaveLength(cases.length));
  it.each(cases.map((entry, index) => [...entry, index] as const))("%s", (_name, _call, says, not, index) => {
    expect(errors[index]).toContain(says);
    expect(errors[index]).not.toContain(not);
  });
});

it("calls that the plan allows compile", () => {
  const calls = [
    'track({ userId: "u", event: "Order Completed", properties: { total: 1, paidAt: new Date(), to: { city: "X" } } });',
    'track({ userId: "u", event: "Signed Out" });',
    "interface Anything { x: number }",
    "declare const anything: Anything;",
    'track({ anonymousId: "a", event: "Signed Out", properties: anything });',
    'page("Docs", { userId: "u", properties: { section: "a" } });',
    'identify({ userId: "u", traits: {} });',
    'alias({ userId: "u", previousId: "p" });',
  ];
  expect(errorsOf([...CALLS, plan(), ...calls])).toEqual([]);
});
