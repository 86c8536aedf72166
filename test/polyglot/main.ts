// `npm run clients:matrix`: prints docs/reference/clients.md as a run finds it; with --write, writes it. With names of clients, such as
// python-posthog, it only runs these.
import { writeFileSync } from "node:fs";
import { CLIENTS } from "./clients.ts";
import { matrixPage, PAGE } from "./matrix.ts";
import { runTrials } from "./run.ts";

const names = process.argv.slice(2).filter((word) => word !== "--write");
const page = matrixPage(
  await runTrials(CLIENTS.filter(({ id }) => names.length === 0 || names.includes(id))),
);
if (process.argv.includes("--write") && names.length === 0) writeFileSync(PAGE, page);
else console.log(page);
