import type { IncomingMessage } from "node:http";

const passedOnFor = Symbol("passedOnFor");

/** A request that another process of the cluster may have passed on. */
interface PassedOnMessage extends IncomingMessage {
  [passedOnFor]?: string;
}

/** Another process passed the request on for a client with this address. Only call it for a request that proved to come from there. */
export function markPassedOn(message: PassedOnMessage, address: string): void {
  message[passedOnFor] = address;
}

export function isPassedOn(message: PassedOnMessage): boolean {
  return message[passedOnFor] !== undefined;
}

/** The address of the peer that connected to the collector, or to the process that passed the request on. */
export function peerAddress(message: PassedOnMessage): string {
  const address = message[passedOnFor] ?? message.socket.remoteAddress ?? "";
  return address.startsWith("::ffff:") ? address.replace(/^::ffff:(?=\d+\.)/, "") : address;
}
