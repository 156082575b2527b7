import type { FieldPair } from '../../keyring/keyring.ts'
import type { LoadedKeyring } from '../../keyring/loaded_keyring.ts'
import type { EncryptionField } from '../../store/realms.ts'
import type { Deps } from '../deps.ts'
import type { Action, HttpRequest } from '../http/http.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { ServedRealm } from '../realms/served_realm.ts'
import { bearerToken, insufficientScope, invalidToken } from '../tokens/bearer.ts'
import { rolesNow } from '../tokens/roles.ts'
import { verifyAccessToken } from '../tokens/verify_access_token.ts'
import type { GoodToken } from '../tokens/verify_access_token.ts'
import { answerBatch } from './batch.ts'
import type { FieldUse } from '../../store/field_roles.ts'
import type { ItemSteps } from './item_steps.ts'
import { decidePermission } from './permission.ts'
import type { FieldCaller } from './permission.ts'
import { readRequestBody } from './request_body.ts'
import type { Members } from './request_body.ts'

/** What one of encrypt, decrypt and rewrap does; the checks around it and their order are the same for all. */
export interface FieldOperation<Item extends { field: string }> {
  /** The roles that it takes. */
  uses: readonly FieldUse[]
  /** @throws OAuthError 403 */
  requirePreconditions(realm: ServedRealm, now: Date): void
  /** @throws OAuthError 400 for another shape */
  readItem(members: Members): Item
  /** @throws OAuthError when this item or this user is beyond what the field takes */
  requireWithinLimits(item: Item, field: EncryptionField, caller: GoodToken): void
  /** Whether errors of status 400 from `apply` are failed decrypts, of which a subject has so many a minute. */
  limitsFailures: boolean
  /** @throws OAuthError */
  apply(item: Item, field: FieldPair, keyring: LoadedKeyring, subject: string): object
}

/** Token, preconditions, shape, permission, limit, key: in this order, whatever the operation. */
export function fieldAction<Item extends { field: string }>(deps: Deps, operation: FieldOperation<Item>): Action {
  return async (request) => {
    const caller = await verifyAccessToken(bearerToken(request), request.realm, deps)
    if (typeof caller === 'string') throw invalidToken(request, caller)
    request.corsClient = caller.client
    operation.requirePreconditions(request.realm, deps.now())
    const body = readRequestBody(request.json)

    const steps = itemSteps(deps, operation, request, caller)
    if (body.batch) return { status: 200, body: { results: await answerBatch(body.items, steps) } }
    const permitted = steps.permit(body.item)
    steps.requireNotLimited()
    return { status: 200, body: steps.apply(permitted) }
  }
}

function itemSteps<Item extends { field: string }>(
  { failedDecrypts, now }: Deps,
  operation: FieldOperation<Item>,
  request: HttpRequest,
  caller: GoodToken,
): ItemSteps<Item> {
  const { realm } = request
  const { subject } = caller.user
  const roles = fieldCaller(caller, realm)
  const keyring = realm.keyring()
  return {
    permit(members) {
      const item = operation.readItem(members)
      const permission = decidePermission(realm.row.fields, item.field, operation.uses, roles)
      if (!permission.permitted) throw refused(request, permission.scope)
      operation.requireWithinLimits(item, permission.field, caller)
      return { item, field: permission.field }
    },
    requireNotLimited() {
      if (!operation.limitsFailures) return
      const seconds = failedDecrypts.secondsToWait(realm.name, subject, now())
      if (seconds > 0) throw rateLimited(seconds)
    },
    apply({ item, field: { name, tag, binding } }) {
      try {
        return operation.apply(item, { field: name, tag, binding }, keyring, subject)
      } catch (error) {
        const isFailure = error instanceof OAuthError && error.status === 400
        if (isFailure && operation.limitsFailures) failedDecrypts.count(realm.name, subject, now())
        throw error
      }
    },
  }
}

function fieldCaller({ claims, session, client }: GoodToken, realm: ServedRealm): FieldCaller {
  return { scope: claims.scope, tokenRoles: claims.roles, rolesNow: rolesNow(session, realm, client) }
}

/** Without a scope to name this is one text, so that fields and tags cannot be probed. */
function refused(request: HttpRequest, scope: string | undefined): OAuthError {
  if (scope === undefined) return insufficientScope(request, 'Not permitted for this field')
  return insufficientScope(request, `The access token needs the scope: ${scope}`, scope)
}

function rateLimited(seconds: number): OAuthError {
  return new OAuthError('rate_limited', 'Too many values could not be decrypted; try again later', {
    headers: { 'Retry-After': String(seconds) },
  })
}
