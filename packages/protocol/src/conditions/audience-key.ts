/**
 * The trait that an audience or computed trait is sent as: the snake_case form of its name. Words and camelCase are
 * split, letters of any script and digits are kept, every run of other characters is one `_`, none at the ends.
 * Empty when the name has no letter and no digit.
 *
 * @example audienceKey("VIP Customers (30 days)") // "vip_customers_30_days"
 */
export function audienceKey(name: string): string {
  return name
    .normalize("NFC")
    .replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, "_")
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, "_")
    .replace(/^_+|_+$/g, "")
    .toLowerCase();
}
