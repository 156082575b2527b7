import type { ApiClient, ApiRequest } from './api_client.ts'
import { isStatus } from './api_error.ts'
import type { ApiObject } from './api_object.ts'

export interface Listed {
  objects: ApiObject[]
  /** A watch that starts here misses nothing. */
  resourceVersion: string
}

/** Most objects in one answer. */
const PAGE_SIZE = 250

/**
 * Every object under a path, page by page, as of one moment. When the API server forgets that moment before the last
 * page (410), the list is requested again in one piece, which cannot expire.
 *
 * @param trim applied to each object as it arrives, so that the parts that it drops are never held for the whole list
 */
export async function listAll(
  client: ApiClient,
  request: Pick<ApiRequest, 'path' | 'query' | 'accept' | 'signal'>,
  trim: (object: ApiObject) => ApiObject = (object) => object,
): Promise<Listed> {
  async function pages(limit: number | undefined): Promise<Listed> {
    const objects: ApiObject[] = []
    let next: string | undefined
    for (;;) {
      const query = { ...request.query, limit, continue: next }
      const { items, metadata } = await client.list({ ...request, method: 'GET', query })
      for (const object of items) objects.push(trim(object))
      next = metadata.continue
      if (!next) return { objects, resourceVersion: metadata.resourceVersion }
    }
  }

  try {
    return await pages(PAGE_SIZE)
  } catch (error) {
    if (!isStatus(error, 410)) throw error
    return pages(undefined)
  }
}
