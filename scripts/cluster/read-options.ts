import { resolve } from "node:path";
import { parseArgs } from "node:util";

export const USAGE = `Usage: npm run cluster -- [options]

Start three NATS servers and three collectors on this machine, behind one address.

Options:
  --port <number>      where it listens (default: 8787; 0: any free port)
  --data-dir <folder>  where everything is kept (default: .sluice/cluster)
  --json               print one line when it is ready
  --help               print this
`;

export interface ClusterOptions {
  readonly port: number;
  readonly directory: string;
  readonly json: boolean;
}

export type ReadOptions =
  | { readonly kind: "run"; readonly options: ClusterOptions }
  | { readonly kind: "help" }
  | { readonly kind: "wrong"; readonly reason: string };

export function readOptions(args: readonly string[]): ReadOptions {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        port: { type: "string", default: "8787" },
        "data-dir": { type: "string", default: ".sluice/cluster" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.help) return { kind: "help" };
    const port = Number(values.port);
    if (values.port === "" || !Number.isInteger(port) || port < 0 || port > 65_535)
      return { kind: "wrong", reason: `--port must be an integer from 0 to 65535, got ${values.port}` };
    const options = { port, directory: resolve(values["data-dir"]), json: values.json };
    return { kind: "run", options };
  } catch (error) {
    // Node.js adds how to write what looks like an option.
    const [first = ""] = (error as Error).message.split(/\. |\n/);
    return { kind: "wrong", reason: first };
  }
}
