import type { ClientRow } from '../../store/clients.ts'
import type { Deps } from '../deps.ts'
import type { HttpRequest } from '../http/request.ts'
import type { Issuance, TokenResponse } from '../tokens/issue_tokens.ts'

/** A token request whose client is authenticated and may use the grant. */
export interface GrantRequest<Parameter extends string = string> extends Pick<HttpRequest, 'realm' | 'address'> {
  client: ClientRow
  /** The form fields that the grant requires, none of them empty. */
  parameters: Readonly<Record<Parameter, string>>
  /** The form field `scope`. */
  scope: string | undefined
  /** Signs the tokens of a proven user and session: `issueTokens`. The only source of a TokenResponse. */
  issue(issuance: Issuance): Promise<TokenResponse>
}

/**
 * One way to get tokens. The token action does before it what all grants share, and `issue` does the rest: a grant
 * proves a user and a session, calls `issue`, and writes the session.
 */
export interface Grant<Parameter extends string = string> {
  grantType: string
  /** Required form fields, each with the error description for its absence; checked in this order. */
  parameters: Readonly<Record<Parameter, string>>
  /** @throws OAuthError */
  handle(request: GrantRequest<Parameter>, deps: Deps): Promise<TokenResponse>
}
