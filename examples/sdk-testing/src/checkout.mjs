/**
 * A checkout that tracks its orders. It takes the client as an argument, so that tests can pass their own.
 *
 * @param {import("@sluice/node").Analytics} analytics
 */
export function checkout(analytics) {
  return {
    /** @param {{ userId: string, items: { sku: string, price: number }[] }} order */
    complete({ userId, items }) {
      const total = items.reduce((sum, { price }) => sum + price, 0);
      analytics.track({
        userId,
        event: "Order Completed",
        properties: { total, skus: items.map(({ sku }) => sku) },
      });
      return total;
    },
  };
}
