import { describe, expect, it } from "vitest";
import { egressPolicy, LOOPBACK_BLOCKS } from "../../src/sender/egress-policy.js";

const closed = egressPolicy();

describe("a policy without exceptions", () => {
  it.each([
    "8.8.8.8",
    "1.1.1.1",
    "172.15.255.255",
    "172.32.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "192.0.1.1",
    "198.17.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
  ])("allows %s", (address) => {
    expect(closed.judge(address, "hooks.example")).toEqual({ allowed: true });
  });

  it.each<[address: string, what: string]>([
    ["0.0.0.0", "an address of this machine"],
    ["0.1.2.3", "an address of this machine"],
    ["10.0.0.1", "a private address"],
    ["100.64.0.1", "a carrier's shared address"],
    ["127.0.0.1", "a loopback address"],
    ["127.255.255.254", "a loopback address"],
    ["169.254.169.254", "a link-local address, where cloud metadata is served"],
    ["172.16.0.1", "a private address"],
    ["172.31.255.255", "a private address"],
    ["192.0.0.8", "a protocol assignment"],
    ["192.0.0.192", "a cloud metadata address"],
    ["192.0.2.1", "a documentation address"],
    ["192.88.99.1", "a 6to4 relay"],
    ["192.168.1.1", "a private address"],
    ["198.19.0.1", "a benchmarking address"],
    ["198.51.100.1", "a documentation address"],
    ["203.0.113.1", "a documentation address"],
    ["224.0.0.1", "a multicast address"],
    ["240.0.0.1", "a reserved address"],
    ["255.255.255.255", "the broadcast address"],
    ["168.63.129.16", "a cloud metadata address"],
    ["100.100.100.200", "a cloud metadata address"],
    ["::", "an address of this machine"],
    ["::1", "a loopback address"],
    ["::2", "an address of this machine"],
    ["::127.0.0.1", "a loopback address"],
    ["::ffff:127.0.0.1", "a loopback address"],
    ["::ffff:7f00:1", "a loopback address"],
    ["::ffff:0:127.0.0.1", "a loopback address"],
    ["::ffff:169.254.169.254", "a link-local address, where cloud metadata is served"],
    ["64:ff9b::a00:1", "a private address"],
    ["64:ff9b::169.254.169.254", "a link-local address, where cloud metadata is served"],
    ["64:ff9b:1::8.8.8.8", "a local NAT64 address"],
    ["2002:7f00:1::1", "a loopback address"],
    ["2002:a9fe:a9fe::", "a link-local address, where cloud metadata is served"],
    ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "a protocol assignment"],
    ["2001:db8::1", "a documentation address"],
    ["3fff::1", "a documentation address"],
    ["fc00::1", "a private address"],
    ["fd12:3456::1", "a private address"],
    ["fd00:ec2::254", "a cloud metadata address"],
    ["fe80::1", "a link-local address"],
    ["fe80::1%eth0", "a link-local address"],
    ["fec0::1", "a reserved address"],
    ["ff02::1", "a multicast address"],
    ["4000::1", "a reserved address"],
  ])("refuses %s: %s", (address, what) => {
    expect(closed.judge(address, address)).toMatchObject({
      allowed: false,
      message: expect.stringContaining(`${address} is ${what}`),
    });
  });

  it.each(["", "localhost", "1.2.3", "1.2.3.4.5", "::g", "0x7f.1"])(
    "refuses %j, which is no address",
    (address) => {
      expect(closed.judge(address, "hooks.example")).toMatchObject({
        allowed: false,
        message: expect.stringContaining(`hooks.example is ${address}, which is not an address`),
      });
    },
  );

  it("names host, address, rule and what to do", () => {
    expect(closed.judge("10.0.0.1", "hooks.internal")).toEqual({
      allowed: false,
      message:
        "hooks.internal is 10.0.0.1, which is a private address (10.0.0.0/8). Only public addresses are allowed, and those in the collector's setting allowTargets",
    });
  });
});

describe("the text for a literal address", () => {
  it.each([
    ["::1", "::1"],
    ["::1", "[::1]"],
    ["fe80::A", "[FE80::a]"],
    ["127.0.0.1", "127.0.0.1."],
  ])("names %s once, when the URL has %s", (address, host) => {
    expect(closed.judge(address, host)).toMatchObject({
      allowed: false,
      message: expect.stringMatching(new RegExp(`^${address} is a `)),
    });
  });
});

describe("a policy with exceptions", () => {
  it.each<[allow: string, address: string, host: string, allowed: boolean]>([
    ["10.1.0.0/16", "10.1.2.3", "x", true],
    ["10.1.0.0/16", "10.2.0.1", "x", false],
    ["10.1.0.0/16", "::ffff:10.1.2.3", "x", true],
    ["10.1.2.3", "10.1.2.3", "x", true],
    ["10.1.2.3", "10.1.2.4", "x", false],
    ["127.0.0.0/8", "::1", "x", false],
    ["::1/128", "::1", "x", true],
    ["fd00::/8", "fd12::1", "x", true],
    ["hooks.internal", "10.0.0.1", "hooks.internal", true],
    ["hooks.internal", "10.0.0.1", "HOOKS.internal.", true],
    ["hooks.internal", "10.0.0.1", "evil.hooks.internal", false],
    ["*.internal", "10.0.0.1", "a.b.internal", true],
    ["*.internal", "10.0.0.1", "internal", false],
    ["*.internal", "10.0.0.1", "eviltinternal", false],
    // These can never be allowed.
    ["0.0.0.0/0", "169.254.169.254", "x", false],
    ["169.254.0.0/16", "169.254.169.254", "x", false],
    ["metadata.internal", "169.254.169.254", "metadata.internal", false],
    ["::/0", "fe80::1", "x", false],
    ["::/0", "fd00:ec2::254", "x", false],
    ["::/0", "fd20:ce::254", "x", false],
    ["fd20:ce::/32", "fd20:ce:0:0::254", "metadata.google.internal", false],
    ["metadata.google.internal", "fd20:ce::254", "metadata.google.internal", false],
    ["::/0", "fd00:c1::a9fe:a9fe", "x", false],
    ["::/0", "fd00:42::42", "x", false],
    ["::/0", "::ffff:169.254.169.254", "x", false],
    ["::/0", "::ffff:0:a9fe:a9fe", "x", false],
    ["::/0", "::a9fe:a9fe", "x", false],
    ["::/0", "64:ff9b::a9fe:a9fe", "x", false],
    ["::/0", "64:ff9b:1::a9fe:a9fe", "x", false],
    ["::/0", "64:ff9b:1:a9fe:a9:fe00::", "x", false],
    ["::/0", "64:ff9b:1:7a9:fe:a9fe::", "x", false],
    ["::/0", "64:ff9b:1:7:a9:fea9:fe00:0", "x", false],
    ["::/0", "64:ff9b:1::10.0.0.1", "x", true],
    ["::/0", "2002:a9fe:a9fe::1", "x", false],
    ["::/0", "2001:0:a9fe:a9fe::1", "x", false],
    ["::/0", "2001:0:4136:e378:8000:63bf:5601:5601", "x", false],
    ["::/0", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "x", true],
    ["fd00::/8", "fd12::5efe:a9fe:a9fe", "x", false],
    ["fd00::/8", "fd12::200:5efe:a9fe:a9fe", "x", false],
    ["fd00::/8", "fd12::5efe:a00:1", "x", true],
  ])("%s: %s for %s: %s", (allow, address, host, allowed) => {
    expect(egressPolicy({ allow: [allow] }).judge(address, host).allowed).toBe(allowed);
  });

  it("allows loopback for development, and nothing else with it", () => {
    const dev = egressPolicy({ allow: LOOPBACK_BLOCKS });
    expect(["127.0.0.1", "::1", "10.0.0.1"].map((address) => dev.judge(address, "x").allowed)).toEqual([
      true,
      true,
      false,
    ]);
  });

  it.each(["10.0.0.0/33", "http://x", "a b", "", "10.0.0.0/8/8"])("refuses %j when it is made", (entry) => {
    expect(() => egressPolicy({ allow: [entry] })).toThrow(
      new RangeError(`Setting \`allowTargets\` takes addresses, blocks and host names, got ${entry}`),
    );
  });
});
