import { type AmountsByAddress, amountsByAddress, clientGroup } from "../body/amounts-by-address.js";
import {
  type AddressShare,
  type Connection,
  isWaitingForClient,
  joinShare,
  leaveShare,
} from "./connection.js";

/** How many connections of an address are looked at to find one that can be closed. */
const MOST_LOOKED_AT = 64;

/**
 * The open connections of a listener, shared out among client addresses. When all places are taken, a new connection takes the place of
 * one of the address that has the most, which is idle or whose request is still arriving. So an address that holds thousands of idle
 * connections keeps nobody out, and a proxy in front of many clients loses only connections that it can open again.
 */
export class ConnectionShares {
  readonly #most: number;
  readonly #inTurn: AmountsByAddress;
  /** The connections of an address stand in the order of their age. */
  readonly #byAddress = new Map<string, AddressShare>();
  /** The addresses by the number of their connections. The last entry that is not empty has those with the most. */
  readonly #bySize: Set<string>[] = [];
  #count = 0;

  /** `inTurn`: see `AddressShare`. Default: those of this listener. */
  constructor(most: number, inTurn = amountsByAddress()) {
    this.#most = most;
    this.#inTurn = inTurn;
  }

  /** Adds a connection, if there is or can be made a place for it. Otherwise returns false. */
  add(connection: Connection): boolean {
    const address = clientGroup(connection.remoteAddress ?? "");
    if (this.#count >= this.#most && !this.#makePlace(address)) return false;
    const share = this.#byAddress.get(address) ?? {
      address,
      connections: new Set(),
      inTurn: this.#inTurn,
    };
    joinShare(connection, share);
    this.#byAddress.set(address, share);
    const { size } = share.connections;
    this.#resized(address, size - 1, size);
    this.#count += 1;
    connection.once("close", () => this.#remove(address, connection));
    return true;
  }

  #remove(address: string, connection: Connection): void {
    const share = this.#byAddress.get(address);
    if (share?.connections.has(connection) !== true) return;
    leaveShare(connection);
    const { size } = share.connections;
    this.#resized(address, size + 1, size);
    if (size === 0) this.#byAddress.delete(address);
    this.#count -= 1;
  }

  /** Closes a connection of the address with the most: its own, if others have no more than it. */
  #makePlace(address: string): boolean {
    const most = this.#bySize.length - 1;
    const own = this.#byAddress.get(address)?.connections.size ?? 0;
    if (own >= most) return this.#closeOne(address);
    const [largest = address] = this.#bySize[most] ?? [];
    return this.#closeOne(largest);
  }

  #closeOne(address: string): boolean {
    let looked = 0;
    for (const connection of this.#byAddress.get(address)?.connections ?? []) {
      if (isWaitingForClient(connection)) {
        this.#remove(address, connection);
        connection.destroy();
        return true;
      }
      if (++looked === MOST_LOOKED_AT) return false;
    }
    return false;
  }

  #resized(address: string, before: number, now: number): void {
    this.#bySize[before]?.delete(address);
    if (now > 0) {
      const same = this.#bySize[now] ?? new Set();
      same.add(address);
      this.#bySize[now] = same;
    }
    while (this.#bySize.length > 0 && (this.#bySize.at(-1)?.size ?? 0) === 0) this.#bySize.pop();
  }
}
