import type { Route } from '../../../server/routes.ts'
import type { WireRequest } from './wire.ts'

/** A request before it is written. Mutations change it in place. */
export interface Draft {
  route: Route
  method: string
  target: string
  version: string
  headers: [name: string, value: string][]
  /** One of these, or none. */
  form?: Field[]
  json?: unknown
  /** Set when the content is written. Headers announce its length unless `framing` does. */
  body?: Buffer
  framing?: 'length' | 'chunked' | 'own'
  isValid: boolean
}

export type Field = [name: string, value: string]

/** Writes form or JSON as the body. */
export function writeContent(draft: Draft): void {
  if (draft.body) return
  if (draft.form) draft.body = Buffer.from(formText(draft.form))
  else if (draft.json !== undefined) draft.body = Buffer.from(JSON.stringify(draft.json))
}

function formText(fields: Field[]): string {
  return fields.map((field) => field.map(encodePart).join('=')).join('&')
}

/** Lone surrogates have no UTF-8. */
function encodePart(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll('%20', '+')
}

export function encode(draft: Draft): WireRequest {
  writeContent(draft)
  const { method, target, version, headers, body, framing = 'length', isValid } = draft
  const announced: [string, string][] = []
  if (body && framing === 'length') announced.push(['Content-Length', String(body.length)])
  if (body && framing === 'chunked') announced.push(['Transfer-Encoding', 'chunked'])
  const lines = [...headers, ...announced].map(([name, value]) => `${name}: ${value}\r\n`)
  const head = Buffer.from(`${method} ${target}${version}\r\n${lines.join('')}\r\n`, 'latin1')
  const content = body && framing === 'chunked' ? [chunk(body), chunk(Buffer.alloc(0))] : body ? [body] : []
  return { method, bytes: Buffer.concat([head, ...content]), isValid }
}

/** One chunk; the last one is empty. */
export function chunk(bytes: Buffer, extension = ''): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}${extension}\r\n`), bytes, Buffer.from('\r\n')])
}

export function setHeader(draft: Draft, name: string, value: string | undefined): void {
  draft.headers = draft.headers.filter(([each]) => each.toLowerCase() !== name.toLowerCase())
  if (value !== undefined) draft.headers.push([name, value])
}

export function headerOf(draft: Draft, name: string): string | undefined {
  return draft.headers.find(([each]) => each.toLowerCase() === name.toLowerCase())?.[1]
}

/** A request as a text for the message of a failure. */
export function printable({ bytes }: WireRequest): string {
  const text = JSON.stringify(bytes.toString('latin1'))
  return text.length > 6_000 ? `${text.slice(0, 6_000)}… (${bytes.length} bytes)` : text
}
