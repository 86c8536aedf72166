import { afterEach, beforeEach, expect, test } from "vitest";
import { type CollectorWorld, openCollector } from "./collector-world.js";

/** More than a double holds: the digits are data. */
const DIGITS = "12345678901234567890123";

let world: CollectorWorld;
beforeEach(async () => {
  world = await openCollector();
});
afterEach(() => world.close());

const deaths = async (): Promise<number> => {
  const text = await world.metrics();
  return Number(/^sluice_audience_engine_deaths_total (\d+)$/m.exec(text)?.[1] ?? 0);
};

/** The text of an answer: parsed, the digits would be lost here. */
async function textOf(method: string, path: string, body?: string): Promise<string> {
  const response = await fetch(`${world.collector.url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${world.collector.firstRun?.adminToken}`,
      "content-type": "application/json",
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  expect(response.status, text).toBeLessThan(300);
  return text;
}

test("numbers that no double holds are shown with all their digits, wherever a user's data is", async () => {
  const condition = `{"kind":"trait","trait":"account","is":"equals","value":1}`;
  const audience = JSON.parse(await textOf("POST", "/audiences", `{"name":"One","condition":${condition}}`));
  const trait = JSON.parse(
    await textOf(
      "POST",
      "/computed-traits",
      `{"name":"Ids","kind":"unique_list","event":"Order","property":"id"}`,
    ),
  );
  await fetch(`${world.collector.url}/v1/batch`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${world.writeKey}:`)}` },
    body: `{"batch":[
      {"type":"identify","userId":"ann","traits":{"account":${DIGITS}}},
      {"type":"track","userId":"ann","event":"Order","properties":{"id":${DIGITS}}}]}`,
  });
  expect(await textOf("GET", "/profiles/ann")).toMatch(`"traits":{"account":${DIGITS}}`);
  expect(await textOf("GET", "/profiles/ann")).toMatch(`"computedTraits":{"ids":[${DIGITS}]}`);
  expect(await textOf("GET", `/audiences/${audience.id}/why?userId=ann`)).toMatch(`"seen":${DIGITS}`);
  expect(await textOf("GET", `/computed-traits/${trait.id}/values`)).toMatch(`"value":[${DIGITS}]`);
  const why = await textOf("GET", `/computed-traits/${trait.id}/why?userId=ann`);
  expect(why).toMatch(`"value":[${DIGITS}]`);
  expect(why).toMatch(`"value":${DIGITS},"times":1`);
  const definition = `{"kind":"last","event":"Order","property":"id"}`;
  expect(await textOf("POST", "/computed-traits/preview", definition)).toMatch(`"value":${DIGITS}`);
  expect(await deaths()).toBe(0);
});
