/** A batch of track messages of about 600 bytes each, with ids and (for latencies) the time of sending. */
export function makeBatch(first, count, sentAtMs) {
  return Array.from({ length: count }, (_, index) => {
    const n = first + index;
    return {
      type: "track",
      event: ["Order Completed", "Product Viewed", "Signed Up", "Page Scrolled"][n % 4],
      messageId: `bench-${process.pid}-${n}-${Math.random().toString(36).slice(2)}`,
      userId: `user-${(n * 7919) % 100_000}`,
      anonymousId: `f2b1b0e0-7d1c-4a52-9a3e-${String(n).padStart(12, "0")}`,
      context: {
        library: { name: "bench", version: "1.0.0" },
        ip: "203.0.113.7",
        locale: "de-DE",
        userAgent: "Mozilla/5.0 (X11; Linux x86_64)",
      },
      properties: {
        ...(sentAtMs === undefined ? {} : { sentAtMs }),
        orderId: `o-${n}`,
        total: 129.95,
        currency: "EUR",
        coupon: null,
        products: [
          { sku: "A-1", price: 10.5, quantity: 2 },
          { sku: "B-2", price: 99.9, quantity: 1 },
        ],
      },
    };
  });
}
