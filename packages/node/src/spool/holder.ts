import type { Server } from "node:net";
import type { BuiltIns } from "./built-ins.js";
import { type HolderName, socketFile } from "./spool-files.js";

/** The same in all containers of a machine, and another one after each boot. Linux only. */
const BOOT_ID = "/proc/sys/kernel/random/boot_id";

/** macOS cuts longer paths of sockets off. Linux takes four bytes more. */
const MAX_SOCKET_PATH_BYTES = 103;

/**
 * Shows other processes that this one runs: a socket in the spool's folder, on which it listens. The operating system closes it however
 * the process ends. A process id would say nothing to another container, and a time nothing after a jump of the clock.
 */
export class Holder {
  readonly #folder: string;
  readonly #builtIns: BuiltIns;
  #name: HolderName | undefined;
  #listening: Promise<Server | undefined> | undefined;

  constructor(folder: string, builtIns: BuiltIns) {
    this.#folder = folder;
    this.#builtIns = builtIns;
  }

  get name(): HolderName {
    this.#name ??= newHolderName(this.#builtIns);
    return this.#name;
  }

  /** Call it before a file gets this holder's name. File systems without sockets are no error. */
  async show(): Promise<void> {
    this.#listening ??= this.#listen();
    await this.#listening;
  }

  /** Call it when no file has this holder's name any more. */
  async hide(): Promise<void> {
    const server = await this.#listening;
    this.#listening = undefined;
    if (server === undefined) return;
    await new Promise((resolve) => server.close(resolve));
    const { fs, path } = this.#builtIns;
    await fs.promises.unlink(path.join(this.#folder, socketFile(this.name))).catch(() => {});
  }

  async #listen(): Promise<Server | undefined> {
    const server = this.#builtIns.net.createServer((connection) => connection.destroy());
    server.unref();
    const file = socketFile(this.name);
    return withSocketPath(this.#folder, file, this.#builtIns, (path) => {
      return new Promise<Server | undefined>((resolve) => {
        // It stays, because the host application would not survive an error without a listener.
        server.on("error", () => resolve(undefined));
        // Not the primary process of a cluster, which may run on.
        server.listen({ path, exclusive: true }, () => resolve(server));
      });
    }).catch(() => undefined);
  }
}

/** `unknown`: its socket is on another machine, or could not be made. */
export type HolderState = "runs" | "ended" | "unknown";

/** Whether the process that took a file still runs. `observer`: the name of this process's holder. */
export async function holderState(
  folder: string,
  { host, boot, id }: HolderName,
  observer: HolderName,
  builtIns: BuiltIns,
): Promise<HolderState> {
  if (boot === observer.boot) return socketState(folder, socketFile({ boot, id }), builtIns);
  // This machine has rebooted. Between two machines of one name, a message may be sent twice, with the same id.
  return host === observer.host ? "ended" : "unknown";
}

/** Whether a process of this machine listens on a socket. */
export async function socketState(folder: string, file: string, builtIns: BuiltIns): Promise<HolderState> {
  return withSocketPath(folder, file, builtIns, (path) => {
    return new Promise<HolderState>((resolve) => {
      const connection = builtIns.net.connect({ path });
      connection.once("connect", () => {
        connection.destroy();
        resolve("runs");
      });
      connection.on("error", ({ code }: NodeJS.ErrnoException) => resolve(stateAfter(code)));
    });
  }).catch(() => "unknown");
}

function stateAfter(code: string | undefined): HolderState {
  if (code === "ECONNREFUSED") return "ended";
  // A pipe of Windows ends with its process, where a socket's file stays.
  if (code === "ENOENT" && process.platform === "win32") return "ended";
  // Too many others ask at the same time.
  return code === "EAGAIN" || code === "EBUSY" ? "runs" : "unknown";
}

/** Calls `use` with the path of a socket in `folder`. Linux also reaches it in a folder with a long path. */
async function withSocketPath<Result>(
  folder: string,
  file: string,
  { fs, path }: BuiltIns,
  use: (path: string) => Promise<Result>,
): Promise<Result> {
  if (process.platform === "win32") return use(`\\\\.\\pipe\\sluice-spool-${file}`);
  const direct = path.join(folder, file);
  if (Buffer.byteLength(direct) <= MAX_SOCKET_PATH_BYTES) return use(direct);
  if (!fs.existsSync("/proc/self/fd")) throw new Error(`The path ${direct} is too long for a socket`);
  const descriptor = fs.openSync(folder, "r");
  try {
    return await use(`/proc/self/fd/${descriptor}/${file}`);
  } finally {
    fs.closeSync(descriptor);
  }
}

function newHolderName({ crypto, fs, os }: BuiltIns): HolderName {
  const digest = (text: string): string => crypto.createHash("sha256").update(text).digest("hex").slice(0, 6);
  const host = textOf(() => os.hostname());
  const boot = textOf(() => fs.readFileSync(BOOT_ID, "utf8")) || host;
  return { host: digest(host), boot: digest(boot), id: crypto.randomBytes(6).toString("hex") };
}

/** Empty where the runtime forbids it. */
function textOf(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
