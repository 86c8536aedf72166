import { type Identification, identitiesIn } from "../../profiles/identities.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";
import type { AddressedMessage, IsNeeded } from "./read-messages.js";

/** Fetches the profiles that messages may change; of the others only their numbers. */
export async function fetchFor(
  unit: UnitOfWork,
  messages: readonly AddressedMessage[],
  isNeeded: IsNeeded,
): Promise<void> {
  const named = new Set<string>();
  for (const { identification } of messages)
    for (const identity of identitiesIn(identification)) named.add(identity);
  await unit.resolve(named);
  const changed = new Set<number>();
  for (const message of messages) {
    if (isOnlySeen(unit, message, isNeeded)) continue;
    for (const identity of identitiesIn(message.identification)) {
      const number = unit.numberOf(identity);
      if (number !== undefined) changed.add(number);
    }
  }
  await unit.fetchNumbers(changed);
}

/** Whether the profiles that a message may change were fetched: a unit of work takes only so much into memory. */
export function isFetched(unit: UnitOfWork, message: AddressedMessage, isNeeded: IsNeeded): boolean {
  if (isOnlySeen(unit, message, isNeeded)) return true;
  return identitiesIn(message.identification).every((identity) => {
    const number = unit.numberOf(identity);
    return number === undefined || !unit.isUnfetched(number);
  });
}

function isOnlySeen(
  unit: UnitOfWork,
  { message, identification }: AddressedMessage,
  isNeeded: IsNeeded,
): boolean {
  return !isNeeded(message.type, message.event) && seenAs(unit, identification) !== undefined;
}

/** The number of the profile of a message that joins no ids; undefined if it may join some. */
export function seenAs(unit: UnitOfWork, { own, anonymous }: Identification): number | undefined {
  const number = unit.numberOf(own);
  return anonymous === undefined || unit.numberOf(anonymous) === number ? number : undefined;
}
