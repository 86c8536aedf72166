import fc from "fast-check";
import { expect } from "vitest";
import {
  checkedConnector,
  type ResolvedAddress,
} from "../../../../apps/collector/src/sender/checked-connector.js";
import { egressPolicy } from "../../../../apps/collector/src/sender/egress-policy.js";
import { valueTarget } from "../../engine/target.js";

const address = fc.constantFrom<ResolvedAddress>(
  ...["127.0.0.1", "10.0.0.1", "169.254.169.254", "0.0.0.0"].map((text) => ({ address: text, family: 4 })),
  ...["::1", "::ffff:127.0.0.1", "fe80::1", "fd00:ec2::254", "2002:7f00:1::"].map((text) => ({
    address: text,
    family: 6,
  })),
);

export const rebinding = valueTarget({
  name: "rebinding",
  rule: "a name that resolves to a forbidden address is refused, wherever the address stands among others and whatever it resolved to before",
  runs: 100,
  values: fc.tuple(fc.array(address, { minLength: 1, maxLength: 4 }), fc.nat({ max: 4 }), fc.domain()),
  async check([forbidden, place, host]) {
    const publicOne: ResolvedAddress = { address: "192.0.43.8", family: 4 };
    const answer = [...forbidden.slice(0, place), publicOne, ...forbidden.slice(place)];
    const open = checkedConnector({ policy: egressPolicy(), resolve: async () => answer, timeoutMs: 2_000 });
    const result = await new Promise<unknown>((resolve) => {
      open({ hostname: host, host, protocol: "http:", port: "9" } as never, () => {}, ((
        error: Error | null,
      ) => resolve(error ?? "connected")) as never);
    });
    expect(result).toMatchObject({ code: "ERR_EGRESS_REFUSED" });
  },
});
