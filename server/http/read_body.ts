import type { IncomingMessage } from 'node:http'
import { OAuthError } from './oauth_error.ts'

/** The connection ended before the body did: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** How much of a refused body is read and dropped, so that its sender gets to read the answer. */
const MAX_DROPPED_BYTES = 16 * 1024 * 1024
const MAX_DROP_MILLIS = 2_000

/**
 * Reads a body of at most `limit` bytes as UTF-8 text. Memory stays within the limit whatever is sent; how long a
 * sender may take is the HTTP server's request timeout.
 * @throws OAuthError 413 over the limit, 400 when it is no UTF-8; ClientGone
 */
export async function readBody(req: IncomingMessage, limit: number): Promise<string> {
  const declared = Number(req.headers['content-length'] ?? 0)
  if (declared > limit) {
    await dropBody(req, declared <= MAX_DROPPED_BYTES)
    throw tooLarge(limit)
  }
  const bytes = await collect(req, limit)
  if (!bytes) {
    await dropBody(req, true)
    throw tooLarge(limit)
  }
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new OAuthError('invalid_request', 'The body is not UTF-8')
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Undefined as soon as there is more than `limit`. */
function collect(req: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    // It ended while something else was waited for: no event will tell.
    if (req.destroyed) throw new ClientGone('the connection ended before the body')
    const chunks: Buffer[] = []
    let length = 0
    const settle = (): void => {
      req.off('data', onData).off('end', onEnd).off('close', onClose)
    }
    const onData = (chunk: Buffer): void => {
      length += chunk.length
      if (length <= limit) {
        chunks.push(chunk)
        return
      }
      settle()
      resolve(undefined)
    }
    const onEnd = (): void => {
      settle()
      resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, length))
    }
    const onClose = (): void => {
      settle()
      reject(new ClientGone('the connection ended inside a body'))
    }
    req.on('data', onData).on('end', onEnd).on('close', onClose)
  })
}

/** Reads on without keeping anything, up to a bound; then the answer is sent and the connection closed. */
function dropBody(req: IncomingMessage, isWorthwhile: boolean): Promise<void> {
  if (!isWorthwhile || req.complete) return Promise.resolve()
  return new Promise((resolve) => {
    let dropped = 0
    const stop = (): void => {
      clearTimeout(timer)
      req.off('data', onData).off('end', stop).off('close', stop)
      req.pause()
      resolve()
    }
    const onData = (chunk: Buffer): void => {
      dropped += chunk.length
      if (dropped > MAX_DROPPED_BYTES) stop()
    }
    const timer = setTimeout(stop, MAX_DROP_MILLIS)
    req.on('data', onData).on('end', stop).on('close', stop)
    req.resume()
  })
}

function tooLarge(limit: number): OAuthError {
  return new OAuthError('request_too_large', `The body is over ${limit} bytes`, { headers: { Connection: 'close' } })
}
