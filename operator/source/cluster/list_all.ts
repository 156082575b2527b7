import type { ApiClient, ApiRequest } from './api_client.ts'
import type { ApiList, ApiObject } from './api_object.ts'
import { isStatus } from './api_error.ts'
import { slimmed } from './received_object.ts'

export interface Listed {
  objects: ApiObject[]
  /** Where a watch goes on. */
  resourceVersion: string
}

/**
 * Everything under a path, page by page, as of one moment. When history is gone before the last page, it is asked for
 * in one piece: that cannot expire.
 */
export async function listAll(
  client: ApiClient,
  request: Pick<ApiRequest, 'path' | 'query' | 'accept' | 'signal'>,
  pageSize: number,
): Promise<Listed> {
  try {
    return await pages(client, request, pageSize)
  } catch (error) {
    if (!isStatus(error, 410)) throw error
    const { items, metadata } = await client.list({ ...request, method: 'GET' })
    return { objects: items.map(slimmed), resourceVersion: metadata.resourceVersion }
  }
}

async function pages(
  client: ApiClient,
  request: Pick<ApiRequest, 'path' | 'query' | 'accept' | 'signal'>,
  limit: number,
): Promise<Listed> {
  const objects: ApiObject[] = []
  let page: ApiList
  let next: string | undefined
  do {
    page = await client.list({ ...request, method: 'GET', query: { ...request.query, limit, continue: next } })
    // Page by page: all of them with their bookkeeping are several times as much.
    for (const object of page.items) objects.push(slimmed(object))
    next = page.metadata.continue
  } while (next)
  return { objects, resourceVersion: page.metadata.resourceVersion }
}
