import pLimit from 'p-limit'
import { METADATA_LIST } from '../kubernetes/api_client.ts'
import type { ApiClient } from '../kubernetes/api_client.ts'
import { isStatus } from '../kubernetes/api_error.ts'
import type { ApiMetadata } from '../kubernetes/api_object.ts'

/** Bounds memory and the load of the API server. */
const PAGE_SIZE = 250
const CALLS_AT_A_TIME = 8
/** After so many lists that became too old, the command ends. */
const MAX_LISTS = 10

/**
 * Calls `work` with the metadata of every object under a path, page by page, a few at a time. An object may be passed
 * again when the API server forgets the state of the list. Rejects with ApiError, and with what `work` rejects with.
 */
export async function forEachObject(
  client: ApiClient,
  path: string,
  work: (metadata: ApiMetadata) => Promise<void>,
): Promise<void> {
  const limit = pLimit(CALLS_AT_A_TIME)
  let next: string | undefined
  for (let lists = 1; ;) {
    try {
      const query = { limit: PAGE_SIZE, continue: next }
      const { items, metadata } = await client.list({ method: 'GET', path, query, accept: METADATA_LIST })
      await Promise.all(items.map((item) => limit(() => work(item.metadata))))
      if (!metadata.continue) return
      next = metadata.continue
    } catch (error) {
      if (!isStatus(error, 410) || next === undefined || ++lists > MAX_LISTS) throw error
      next = undefined
    }
  }
}
