import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer, TLSSocket } from "node:tls";

export interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  /** Header and body, as they were sent. */
  readonly data: string;
  readonly user: string | undefined;
  readonly isEncrypted: boolean;
}

export interface SmtpServerOptions {
  /** `tls`: encrypted from the start. `starttls`: offers STARTTLS. Default: neither. */
  readonly security?: "tls" | "starttls";
  /** Default: anybody may send. */
  readonly login?: { readonly user: string; readonly password: string };
  /** The answer to RCPT TO, such as `550 unknown user`. */
  readonly recipientAnswer?: string;
}

export interface SmtpServer extends AsyncDisposable {
  readonly port: number;
  readonly mails: readonly Mail[];
  /** Resolves with the next mail. */
  next(): Promise<Mail>;
  /** Answers everything with this from now on; undefined: as usual. */
  refuse(answer: string | undefined): void;
}

const FIXTURES = join(import.meta.dirname, "../../../apps/collector/test/sender/fixtures");
const CERTIFICATE = {
  key: readFileSync(join(FIXTURES, "valid.key")),
  cert: readFileSync(join(FIXTURES, "valid.pem")),
};

/** An SMTP server (RFC 5321, 3207, 4954) on a free loopback port that keeps what it gets. */
export async function smtpServer(options: SmtpServerOptions = {}): Promise<SmtpServer> {
  const mails: Mail[] = [];
  const waiting: ((mail: Mail) => void)[] = [];
  const sockets = new Set<Socket>();
  let refusal: string | undefined;
  const serve = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    converse(socket, options.security === "tls", options, {
      refusal: () => refusal,
      take(mail) {
        mails.push(mail);
        waiting.shift()?.(mail);
      },
    });
  };
  const server: Server =
    options.security === "tls" ? createTlsServer(CERTIFICATE, serve) : createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    mails,
    next: () => new Promise((resolve) => waiting.push(resolve)),
    refuse: (answer) => {
      refusal = answer;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Mailbox {
  readonly refusal: () => string | undefined;
  readonly take: (mail: Mail) => void;
}

function converse(first: Socket, encrypted: boolean, options: SmtpServerOptions, mailbox: Mailbox): void {
  let socket = first;
  let isEncrypted = encrypted;
  let buffer = "";
  let user: string | undefined;
  let envelope: { from: string; to: string[] } = { from: "", to: [] };
  let isData = false;
  const say = (line: string): void => void socket.write(`${line}\r\n`);
  const startTls = (): void => {
    say("220 go ahead");
    socket.removeAllListeners("data");
    socket = new TLSSocket(socket, { isServer: true, ...CERTIFICATE });
    socket.on("error", () => {});
    socket.on("data", onData);
    isEncrypted = true;
  };
  const greet = (): void => {
    say("250-test");
    if (options.security === "starttls" && !isEncrypted) say("250-STARTTLS");
    if (options.login !== undefined) say("250-AUTH PLAIN");
    say("250 SIZE 1000000");
  };
  const login = (line: string): void => {
    const [, name, password] = Buffer.from(line.split(" ")[2] ?? "", "base64")
      .toString()
      .split("\0");
    const isRight = name === options.login?.user && password === options.login?.password;
    if (isRight) user = name;
    say(isRight ? "235 welcome" : "535 5.7.8 wrong user name or password");
  };
  const onLine = (line: string): void => {
    const refused = mailbox.refusal();
    const verb = line.slice(0, 4).toUpperCase();
    if (refused !== undefined && verb !== "QUIT") say(refused);
    else if (verb === "EHLO") greet();
    else if (verb === "STAR" && options.security !== "starttls") say("502 not offered");
    else if (verb === "STAR") startTls();
    else if (verb === "AUTH") login(line);
    else if (verb === "MAIL") {
      envelope = { from: line.slice(10), to: [] };
      say("250 ok");
    } else if (verb === "RCPT") {
      if (options.recipientAnswer === undefined) envelope.to.push(line.slice(8));
      say(options.recipientAnswer ?? "250 ok");
    } else if (verb === "DATA") {
      isData = true;
      say("354 go on");
    } else if (verb === "QUIT") {
      say("221 bye");
      socket.end();
    } else say("250 ok");
  };
  const onData = (chunk: Buffer): void => {
    buffer += chunk.toString("utf8");
    for (;;) {
      const end = buffer.indexOf(isData ? "\r\n.\r\n" : "\r\n");
      if (end < 0) return;
      const text = buffer.slice(0, end);
      buffer = buffer.slice(end + (isData ? 5 : 2));
      if (!isData) onLine(text);
      else {
        isData = false;
        say("250 2.0.0 queued");
        mailbox.take({ ...envelope, data: text, user, isEncrypted });
      }
    }
  };
  socket.on("data", onData);
  say("220 test ESMTP");
}
