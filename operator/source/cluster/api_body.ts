import type { IncomingMessage } from 'node:http'

/** More than any list of one page, or any object, holds. */
const LONGEST_BODY = 256 * 1024 * 1024

/** The whole body as text. Rejects when it is longer than anything that is expected, or breaks off. */
export async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response) {
    length += chunk.length
    if (length > LONGEST_BODY) throw new Error('the answer is too long')
    chunks.push(chunk)
  }
  if (!response.complete) throw new Error('the answer broke off')
  return Buffer.concat(chunks).toString('utf8')
}
