import type { ListAnswer } from "@sluice/control-api";

/** Every item of a list, page after page. */
export async function* allPages<T>(
  page: (cursor: string | undefined) => Promise<ListAnswer<T>>,
): AsyncGenerator<T> {
  let cursor: string | undefined;
  do {
    const answer = await page(cursor);
    yield* answer.items;
    cursor = answer.nextCursor;
  } while (cursor !== undefined);
}
