import { CommandFailure } from "./exit-codes.js";

/** Turns the error of a server that cannot listen into a message with a hint. Returns every other error unchanged. */
export function listenFailure(error: unknown, host: string, port: number, hintIfInUse?: string): unknown {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  const address = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  switch (code) {
    case "EADDRINUSE":
      return new CommandFailure(
        "failed",
        `The address ${address} is already in use by another process`,
        ["Choose another port with --port; --port 0 takes any free one", hintIfInUse]
          .filter((hint) => hint !== undefined)
          .join(". "),
      );
    case "EACCES":
    case "EPERM":
      if (syscall !== "listen") return error;
      return new CommandFailure(
        "failed",
        `You are not allowed to listen on ${address}`,
        "Choose a port above 1023 with --port",
      );
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new CommandFailure(
        "usage",
        `${host} is not an address of this machine`,
        "Choose another address with --host",
      );
    default:
      return error;
  }
}
