import type { ClientRow } from '../../store/clients.ts'
import type { Deps } from '../deps.ts'
import type { HttpRequest } from '../http/request.ts'
import type { TokenResponse } from '../tokens/token_response.ts'

/** A token request whose client is known and may use the grant. */
export interface GrantRequest extends Pick<HttpRequest, 'realm' | 'form' | 'address'> {
  client: ClientRow
}

/** One way to get tokens. Everything that all grants have in common is behind it already. */
export interface Grant {
  grantType: string
  /** @throws OAuthError */
  handle(request: GrantRequest, deps: Deps): Promise<TokenResponse>
}
