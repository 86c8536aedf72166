import type { IncomingMessage } from "node:http";
import type { CollectorError } from "../../errors.js";

const passedOnFor = Symbol("passedOnFor");
const lookedAt = Symbol("lookedAt");

/** What the process that passed a request on knows of it. */
export interface LookedAt {
  /** All of its messages belong to this partition. Default: false. */
  readonly isOfPartition?: boolean | undefined;
  /** Its body could not be read, and was not passed on. */
  readonly refused?: CollectorError | undefined;
}

/** A request that another process of the cluster may have passed on. */
interface PassedOnMessage extends IncomingMessage {
  [passedOnFor]?: string;
  [lookedAt]?: LookedAt;
}

/** Another process passed the request on for a client with this address. Only call it for a request that proved to come from there. */
export function markPassedOn(message: PassedOnMessage, address: string, facts: LookedAt): void {
  message[passedOnFor] = address;
  message[lookedAt] = facts;
}

/** Empty if no process of the cluster looked at it. */
export function whatIsKnownOf(message: PassedOnMessage): LookedAt {
  return message[lookedAt] ?? NOTHING;
}

const NOTHING: LookedAt = {};

export function isPassedOn(message: PassedOnMessage): boolean {
  return message[passedOnFor] !== undefined;
}

/** The address of the peer that connected to the collector, or to the process that passed the request on. */
export function peerAddress(message: PassedOnMessage): string {
  const address = message[passedOnFor] ?? message.socket.remoteAddress ?? "";
  return address.startsWith("::ffff:") ? address.replace(/^::ffff:(?=\d+\.)/, "") : address;
}
