import type { IncomingMessage } from 'node:http'
import type { Context } from 'koa'
import bodyParser from 'koa-bodyparser'
import { decodeForm } from './form.ts'
import { checkContent } from './guards.ts'
import { countHeldBytes } from './held_bytes.ts'
import { OAuthError } from './oauth_error.ts'
import type { Form } from './request.ts'

/** What a route reads of a body. `optional_form`: a request without a body is as good. */
export type BodyKind = 'none' | 'form' | 'optional_form' | 'json'

/** A body as actions see it: the fields of a form, or the text of a JSON body. */
export interface Body {
  form: Form
  json: string | undefined
}

/** Thrown into a body that is being read. */
class TooManyBytesHeld extends Error {
  override readonly name = 'TooManyBytesHeld'
}

/** The connection ended before the body did: there is no caller to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

const NO_FORM: Form = Object.freeze(Object.create(null))
export const NO_BODY: Body = Object.freeze({ form: NO_FORM, json: undefined })

const FORM = bodyReader('application/x-www-form-urlencoded', 64 * 1024)
const JSON_TEXT = bodyReader('application/json', 1024 * 1024)

/**
 * Refuses by the head alone what can be refused; the result reads the body. Memory stays within the limit of its kind,
 * and within that of the process for all bodies together; the listener bounds the time.
 * @throws OAuthError 415, 413; the result also 400 for bytes that are no UTF-8 and for a malformed form, 503 when too
 * many bytes are held, and ClientGone
 */
export async function openBody(ctx: Context, kind: BodyKind): Promise<() => Promise<Body>> {
  if (kind === 'json') {
    const read = await JSON_TEXT(ctx)
    return async () => ({ form: NO_FORM, json: await read() })
  }
  const isAbsent = kind === 'none' || !hasBody(ctx.req)
  // An empty form needs no type: the error names the field that is missing.
  if (isAbsent && (kind !== 'form' || ctx.req.headers['content-type'] === undefined)) return async () => NO_BODY
  const read = await FORM(ctx)
  return async () => ({ form: decodeForm(await read()), json: undefined })
}

/** RFC 9112 section 6: one of these headers announces a body. */
function hasBody({ headers }: IncomingMessage): boolean {
  if (headers['transfer-encoding'] !== undefined) return true
  return headers['content-length'] !== undefined && headers['content-length'] !== '0'
}

/** koa-bodyparser in its text mode, as a bounded reader of bytes: it decodes neither charsets nor forms nor JSON. */
function bodyReader(mediaType: string, limit: number): (ctx: Context) => Promise<() => Promise<string>> {
  // raw-body takes an empty encoding for "bytes"; the typings lack the option.
  const options: bodyParser.Options & { encoding: string } = {
    enableTypes: ['text'],
    extendTypes: { text: [mediaType] },
    textLimit: String(limit),
    encoding: '',
  }
  const parse = bodyParser(options)

  return async (ctx) => {
    const { req } = ctx
    checkContent(req.headers, mediaType)
    // Not left to co-body, which reads the length as 32 bits: 4 GiB count as 0 bytes.
    if (declaredLength(req) > limit) throw tooLarge(limit)
    return async () => {
      // The guard has read them; the parser finds them in the one spelling that it knows.
      req.headers['content-type'] = mediaType
      if (req.headers['content-encoding'] !== undefined) req.headers['content-encoding'] = 'identity'
      // raw-body, which reads meanwhile, stops at an error of the stream.
      const endCount = countHeldBytes(req, ctx.res, () => req.emit('error', new TooManyBytesHeld()))
      const failure = await parse(ctx, noNext).then(
        () => undefined,
        (error: unknown) => ({ error }),
      )
      endCount()
      if (failure) {
        // raw-body pauses the stream, which would keep what it holds until the connection is closed.
        req.resume()
        throw readFailure(failure.error, limit)
      }
      return decodeUtf8(ctx.request.rawBody)
    }
  }
}

async function noNext(): Promise<void> {}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeUtf8(bytes: unknown): string {
  if (!Buffer.isBuffer(bytes)) return ''
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new OAuthError('invalid_request', 'The body is not UTF-8')
  }
}

const CONNECTION_ENDED = new Set(['request.aborted', 'stream.not.readable', 'ECONNRESET'])

/** Translates an error of raw-body. */
function readFailure(error: unknown, limit: number): unknown {
  if (!(error instanceof Error)) return error
  const code = 'type' in error ? error.type : 'code' in error ? error.code : undefined
  if (CONNECTION_ENDED.has(String(code))) return new ClientGone('the connection ended inside a body', { cause: error })
  if (error instanceof TooManyBytesHeld) return tooManyBytes()
  return code === 'entity.too.large' ? tooLarge(limit) : error
}

function tooManyBytes(): OAuthError {
  return new OAuthError('temporarily_unavailable', 'Too many large requests are being received', {
    headers: { 'Retry-After': '1', Connection: 'close' },
    overload: 'body_memory',
  })
}

function tooLarge(limit: number): OAuthError {
  return new OAuthError('request_too_large', `The body is over ${limit} bytes`, { headers: { Connection: 'close' } })
}

/** Bytes; 0 without the header, as for a chunked body. */
function declaredLength({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0)
}
