import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

it("the same application can be tested with node:test", async () => {
  const file = fileURLToPath(new URL("../node-test/checkout.mjs", import.meta.url));
  // With the parent's variables, node:test would behave as part of another run.
  const child = spawn(process.execPath, ["--test", file], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH ?? "" },
  });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect(output).toContain("pass 2");
  expect(code).toBe(0);
});
