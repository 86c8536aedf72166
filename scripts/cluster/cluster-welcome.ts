import { welcome } from "../../packages/cli/src/commands/run/dev.ts";
import type { Style } from "../../packages/cli/src/terminal/style.ts";

export interface ListedProcess {
  readonly name: string;
  readonly address: string;
  readonly pid: number | undefined;
}

/** What `npm run cluster` prints when it is ready: what `npm start` prints, and the processes. */
export function clusterWelcome(
  ready: Parameters<typeof welcome>[0],
  directory: string,
  processes: readonly ListedProcess[],
  style: Style,
): string {
  const lines = processes.map(({ name, address, pid }) => `    ${name} ${address} process ${pid}\n`);
  return [
    welcome(ready, directory, { style, invocation: "npx sluice" }),
    `  ${style.bold("Processes")}  ${style.dim("kill one to see another take over")}\n\n`,
    ...lines,
    `\n  ${style.dim("If you used another collector in this folder before, run the `export` lines before `npx sluice`.")}\n`,
    `\n  ${style.dim("`npx sluice cluster status` shows who does the work, and so does the page Cluster of the dashboard.")}\n\n`,
  ].join("");
}
