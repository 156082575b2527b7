import type { ClientRow } from '../../store/clients.ts'
import type { ServedRealm } from '../realms/served_realm.ts'

/** The decoded members of a form: own, flat names, each given once, empty ones left out. No prototype. */
export type Form = Readonly<Record<string, string | undefined>>

/** What an action sees of a request. Actions, grants and checks do not know Koa. */
export interface HttpRequest {
  id: string
  realm: ServedRealm
  /** The header as sent. */
  authorization: string | undefined
  /** The query as sent, without its question mark; empty when there is none. No endpoint takes parameters from it. */
  query: string
  /** Empty when the body was not a form. */
  form: Form
  /** The text of a JSON body, within its bound; parsed by whoever expects one. */
  json: string | undefined
  /** The peer, or what a trusted proxy said of it. */
  address: string
  /** Set once a client is known: its origins get CORS headers, on errors as well. */
  corsClient?: ClientRow
}

export interface HttpAnswer {
  status: number
  headers?: Record<string, string>
  body?: object
  /** For the log line alone: why a token, or the whole request, has no effect although the answer is no error. */
  cause?: string
}

/** One endpoint, apart from HTTP: throws OAuthError, answers otherwise. */
export type Action = (request: HttpRequest) => Promise<HttpAnswer>
