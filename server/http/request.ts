import type { ClientRow } from '../../store/clients.ts'
import type { ServedRealm } from '../realms/realms.ts'
import type { GoodToken } from '../tokens/verify_access_token.ts'

/** The decoded fields of a form: flat names, each given once, empty ones left out. No prototype. */
export type Form = Readonly<Record<string, string | undefined>>

/** What an action sees of a request. Actions, grants and checks do not know Koa. */
export interface HttpRequest {
  realm: ServedRealm
  /** The header as sent. */
  authorization: string | undefined
  /** The query as sent, without its question mark; empty when there is none. No endpoint takes parameters from it. */
  query: string
  /** Empty when the body was not a form. */
  form: Form
  /** The text of a JSON body, within its bound; the action parses it. */
  json: string | undefined
  /** The peer, or the address that a trusted proxy forwarded. */
  address: string
}

/** A request of an authenticated client. */
export interface ClientRequest extends HttpRequest {
  client: ClientRow
}

/** A request with a good access token. */
export interface BearerRequest extends HttpRequest {
  token: GoodToken
}

export interface HttpAnswer {
  status: number
  headers?: Record<string, string>
  body?: object
  /** For the log line alone: why a token, or the whole request, has no effect although the answer is no error. */
  cause?: string
}

/** One endpoint, apart from HTTP: throws OAuthError, answers otherwise. */
export type Action<Request extends HttpRequest = HttpRequest> = (request: Request) => Promise<HttpAnswer>
