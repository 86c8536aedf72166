import type { Message } from "@sluice/transformations";

interface Product {
  country?: string;
  price?: number;
  quantity?: number;
}

/** Makes a message for each country that an order is shipped from, with its products and total. */
export default function splitByCountry(message: Message) {
  if (message.type !== "track" || !Array.isArray(message.properties?.products)) return message;
  const byCountry = new Map<string, Product[]>();
  for (const product of message.properties.products as Product[]) {
    const country = product.country ?? "unknown";
    byCountry.set(country, [...(byCountry.get(country) ?? []), product]);
  }
  return [...byCountry].map(([country, products]) => ({
    ...message,
    properties: { ...message.properties, country, products, total: totalOf(products) },
  }));
}

/** In cents, because sums of decimals are not exact. */
function totalOf(products: Product[]): number {
  const cents = products.map(({ price = 0, quantity = 1 }) => Math.round(price * 100) * quantity);
  return cents.reduce((sum, one) => sum + one, 0) / 100;
}
