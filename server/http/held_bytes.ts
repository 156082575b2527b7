import type { IncomingMessage, ServerResponse } from 'node:http'

/** What a chunk costs beside its bytes: a Buffer with a backing store of its own. Measured with chunks of one byte. */
const BYTES_PER_CHUNK = 512
/** A body below this is counted with its connection, so that short requests are served while the bound is reached. */
const FREE_BYTES = 16 * 1024
/**
 * Of one body. The longest one, in pieces of 171 bytes. Smaller pieces leave more garbage than is collected in time: 8
 * callers with chunks of one byte took 500 MiB.
 */
const MAX_HELD_BY_ONE = 4 * 1024 * 1024
/** Of all bodies that are being read or whose requests are not answered yet. */
const MAX_HELD_BYTES = 32 * 1024 * 1024

let held = 0

/**
 * Counts the memory of a body while it is read, however its sender cuts it. Calls `refuse` once, when this body holds too
 * much, or the bodies of this process do together. Returns a function that ends the count; what was counted is held until
 * the answer.
 */
export function countHeldBytes(req: IncomingMessage, res: ServerResponse, refuse: () => void): () => void {
  let ofThisBody = -FREE_BYTES
  const count = (chunk: Buffer): void => {
    const before = Math.max(0, ofThisBody)
    ofThisBody += chunk.length + BYTES_PER_CHUNK
    held += Math.max(0, ofThisBody) - before
    if (ofThisBody <= MAX_HELD_BY_ONE && (held <= MAX_HELD_BYTES || ofThisBody <= 0)) return
    req.off('data', count)
    refuse()
  }
  req.on('data', count)
  res.once('close', () => {
    held -= Math.max(0, ofThisBody)
  })
  return () => void req.off('data', count)
}
