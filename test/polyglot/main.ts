// `npm run clients:matrix`: prints docs/reference/clients.md as a run finds it; with --write, writes it.
import { writeFileSync } from "node:fs";
import { CLIENTS } from "./clients.ts";
import { matrixPage, PAGE } from "./matrix.ts";
import { runTrials } from "./run.ts";

const page = matrixPage(await runTrials(CLIENTS));
if (process.argv.includes("--write")) writeFileSync(PAGE, page);
else console.log(page);
