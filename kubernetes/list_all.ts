import type { ApiClient, ApiRequest } from './api_client.ts'
import { AnswerTooLarge, isStatus } from './api_error.ts'
import type { ApiList, ApiObject } from './api_object.ts'

export interface Listed {
  objects: ApiObject[]
  /** A watch that starts here misses nothing. */
  resourceVersion: string
}

/** Most objects in one answer. */
const PAGE_SIZE = 250
/** An object may have 1.5 MB, and an answer takes several times its length in memory. */
const PAGE_BYTES = 16 * 1024 * 1024
/** A page that is too long is requested again with this share of its objects. */
const SMALLER = 8

/**
 * Every object under a path, page by page, as of one moment. Pages are smaller where objects are large, so that the
 * authors of objects cannot exhaust the memory of this process. When the API server forgets that moment before the last
 * page (410), the list is requested again in one piece, which cannot expire.
 *
 * @param trim applied to each object as it arrives, so that the parts that it drops are never held for the whole list
 */
export async function listAll(
  client: ApiClient,
  request: Pick<ApiRequest, 'path' | 'query' | 'accept' | 'signal'>,
  trim: (object: ApiObject) => ApiObject = (object) => object,
): Promise<Listed> {
  async function page(limit: number, next: string | undefined): Promise<ApiList> {
    const query = { ...request.query, limit, continue: next }
    try {
      return await client.list({ ...request, method: 'GET', query, ...(limit > 1 && { maxBodyBytes: PAGE_BYTES }) })
    } catch (error) {
      if (!(error instanceof AnswerTooLarge) || limit === 1) throw error
      return page(Math.ceil(limit / SMALLER), next)
    }
  }

  async function pages(request: (next: string | undefined) => Promise<ApiList>): Promise<Listed> {
    const objects: ApiObject[] = []
    let next: string | undefined
    for (;;) {
      const { items, metadata } = await request(next)
      for (const object of items) objects.push(trim(object))
      next = metadata.continue
      if (!next) return { objects, resourceVersion: metadata.resourceVersion }
    }
  }

  try {
    return await pages((next) => page(PAGE_SIZE, next))
  } catch (error) {
    if (!isStatus(error, 410)) throw error
    return pages(() => client.list({ ...request, method: 'GET' }))
  }
}
