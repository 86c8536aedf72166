/** A typical track call of a shop: about 680 bytes of JSON with id and time. Each one is different. */
export function trackCall(i) {
  return {
    userId: `user-${i % 5_000}`,
    event: "Product Viewed",
    properties: {
      product_id: `507f1f77bcf86cd79943${i}`,
      sku: "G-32",
      category: "Games",
      name: "Monopoly: 3rd Edition",
      brand: "Hasbro",
      variant: "200 pieces",
      price: 18.99,
      quantity: 1 + (i % 3),
      coupon: "MAYDEALS",
      currency: "USD",
      position: i % 40,
      url: `https://www.example.com/product/path/${i}`,
      image_url: "https://www.example.com/product/path.jpg",
    },
    context: {
      ip: "203.0.113.7",
      userAgent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
      page: { path: "/product/path", referrer: "https://www.example.com/" },
    },
  };
}
