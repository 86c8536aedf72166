import { hash } from "node:crypto";

const REGISTERS = 256;
const ALPHA = 0.7213 / (1 + 1.079 / REGISTERS);

/** About how many different texts were added, in 256 bytes and within some 7 %: HyperLogLog (Flajolet et al., 2007). */
export interface DistinctCount {
  add(text: string): void;
  estimate(): number;
  /** The state, to go on later. */
  registers(): readonly number[];
}

export function distinctCount(kept: readonly number[] = []): DistinctCount {
  const registers = Uint8Array.from({ length: REGISTERS }, (_, index) => kept[index] ?? 0);
  return {
    add(text) {
      const digest = hash("sha256", text, "buffer");
      const register = digest.readUInt8(0);
      const rank = Math.clz32(digest.readUInt32BE(1)) + 1;
      registers[register] = Math.max(registers[register] ?? 0, rank);
    },
    estimate() {
      const empty = registers.filter((rank) => rank === 0).length;
      // Few texts: the share of empty registers is more exact.
      if (empty > 0) {
        const few = REGISTERS * Math.log(REGISTERS / empty);
        if (few <= 2.5 * REGISTERS) return Math.round(few);
      }
      const sum = registers.reduce((total, rank) => total + 2 ** -rank, 0);
      return Math.round((ALPHA * REGISTERS ** 2) / sum);
    },
    registers: () => [...registers],
  };
}
