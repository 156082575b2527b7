/** Rows of one statement. Reading and handling them takes a fraction of a second. */
const PAGE = 1_000

/**
 * Reads a table page by page, in the order of an immutable key, so that neither the statement nor the handling of its
 * rows takes long. Rows that are inserted or deleted meanwhile may be in it or not.
 * @param read the first `limit` rows after a row
 */
export async function* inPages<Row>(
  read: (after: Row | undefined, limit: number) => Promise<Row[]>,
): AsyncGenerator<Row[], void, undefined> {
  let after: Row | undefined
  for (;;) {
    const page = await read(after, PAGE)
    yield page
    if (page.length < PAGE) return
    after = page.at(-1)
  }
}
