const PEOPLE = ["Ada", "Grace", "Linus", "Margaret", "Edsger", "Barbara", "Alan", "Radia", "Ken", "Frances"];
const PLANS = ["free", "free", "free", "pro", "pro", "team"];
const PRODUCTS = ["Espresso cup", "Grinder", "Kettle", "Filter papers", "House blend 1 kg"];
const PAGES = ["Home", "Pricing", "Product", "Cart", "Checkout"];

/** Numbers in [0, 1) that are the same in every run (mulberry32). */
export function seededRandom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** One message of the shop: what its `index`-th visitor action would send. */
export function eventAt(index, random, atMs) {
  const pick = (list) => list[Math.floor(random() * list.length)];
  const person = Math.floor(random() * 400);
  const userId = `user-${1_000 + person}`;
  const message = {
    messageId: `shop-${String(index).padStart(6, "0")}`,
    userId,
    timestamp: new Date(atMs).toISOString(),
    context: { library: { name: "@sluice/node", version: "0.1.0" } },
  };
  const chance = random();
  if (chance < 0.12) {
    const name = PEOPLE[person % PEOPLE.length];
    const traits = {
      name,
      email: `${name.toLowerCase()}${person}@example.com`,
      plan: PLANS[person % PLANS.length],
    };
    return { ...message, type: "identify", traits };
  }
  if (chance < 0.4) return { ...message, type: "page", name: pick(PAGES), properties: { path: "/shop" } };
  const total = Math.round(900 + random() * 12_000) / 100;
  const product = pick(PRODUCTS);
  if (chance < 0.6)
    return {
      ...message,
      type: "track",
      event: "Order Completed",
      properties: { orderId: `A-${10_000 + index}`, total, currency: "EUR", items: [product] },
    };
  if (chance < 0.8) return { ...message, type: "track", event: "Product Viewed", properties: { product } };
  if (chance < 0.95)
    return { ...message, type: "track", event: "Product Added", properties: { product, quantity: 1 } };
  return {
    ...message,
    type: "track",
    event: "Signed Up",
    properties: { plan: PLANS[person % PLANS.length] },
  };
}
