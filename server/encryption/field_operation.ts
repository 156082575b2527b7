import type { LoadedKeyring } from '../../keyring/loaded_keyring.ts'
import type { EncryptionField, FieldUse } from '../../store/realms.ts'
import type { SessionUser } from '../../store/sessions/live_sessions.ts'
import type { Deps } from '../deps.ts'
import type { Action, BearerRequest } from '../http/request.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { ServedRealm } from '../realms/realms.ts'
import { insufficientScope } from '../tokens/bearer.ts'
import { rolesNow } from '../tokens/scope.ts'
import { answerBatch } from './batch.ts'
import type { ItemSteps } from './batch.ts'
import { decryptValue, encryptValue } from './cipher.ts'
import type { CipherContext, Decrypted, DecryptError, Encrypted } from './cipher.ts'
import { decidePermission } from './permission.ts'
import type { FieldCaller } from './permission.ts'
import { readRequestBody } from './request_body.ts'
import type { Members } from './request_body.ts'

/** One of encrypt, decrypt and rewrap: what differs between them. */
export interface FieldOperation<Item extends { field: string }> {
  /** The roles that the caller needs. */
  uses: readonly FieldUse[]
  /** @throws OAuthError 403 */
  requireAvailable(realm: ServedRealm, now: Date): void
  /** @throws OAuthError 400 for another shape */
  readItem(members: Members): Item
  /** Counts errors of status 400 from `apply` as failed decrypts, which are limited for each subject. */
  limitsFailures: boolean
  /** @throws OAuthError */
  apply(item: Item, call: FieldCall): object
}

/** What an operation applies to one item. */
export interface FieldCall {
  field: EncryptionField
  user: SessionUser
  keyring: LoadedKeyring
  context: CipherContext
}

/** Availability, shape, permission, failure limit, key: every operation checks in this order. */
export function fieldAction<Item extends { field: string }>(
  deps: Pick<Deps, 'failedDecrypts' | 'now'>,
  operation: FieldOperation<Item>,
): Action<BearerRequest> {
  return async (request) => {
    operation.requireAvailable(request.realm, deps.now())
    const body = readRequestBody(request.json)

    const steps = itemSteps(deps, operation, request)
    if (body.batch) return { status: 200, body: { results: await answerBatch(body.items, steps) } }
    const permitted = steps.permit(body.item)
    steps.requireNotLimited()
    return { status: 200, body: steps.apply(permitted) }
  }
}

function itemSteps<Item extends { field: string }>(
  { failedDecrypts }: Pick<Deps, 'failedDecrypts'>,
  operation: FieldOperation<Item>,
  request: BearerRequest,
): ItemSteps<Item> {
  const { realm, token } = request
  const { user } = token
  const { subject } = user
  // A realm's name holds no space.
  const limiterKey = `${realm.name} ${subject}`
  const keyring = realm.keyring()
  const caller: FieldCaller = {
    scope: token.claims.scope,
    tokenRoles: token.claims.roles,
    rolesNow: rolesNow(token.session, realm, token.client),
  }
  return {
    permit(members) {
      const item = operation.readItem(members)
      const permission = decidePermission(realm.row.fields, item.field, operation.uses, caller)
      if (!permission.permitted) throw notPermitted(request, permission.scope)
      return { item, field: permission.field }
    },
    requireNotLimited() {
      if (!operation.limitsFailures) return
      const seconds = failedDecrypts.secondsToWait(limiterKey)
      if (seconds > 0) throw rateLimited(seconds)
    },
    apply({ item, field }) {
      try {
        const { name, tag, binding } = field
        return operation.apply(item, { field, user, keyring, context: { field: name, tag, binding, sub: subject } })
      } catch (error) {
        const isFailure = error instanceof OAuthError && error.status === 400
        if (isFailure && operation.limitsFailures) failedDecrypts.count(limiterKey)
        throw error
      }
    },
  }
}

/** Without a scope, the text is the same for every cause, so that callers cannot probe for fields and tags. */
function notPermitted(request: BearerRequest, scope: string | undefined): OAuthError {
  if (scope === undefined) return insufficientScope(request, 'Not permitted for this field')
  return insufficientScope(request, `The access token needs the scope: ${scope}`, scope)
}

function rateLimited(seconds: number): OAuthError {
  return new OAuthError('rate_limited', 'Too many values could not be decrypted; try again later', {
    headers: { 'Retry-After': String(seconds) },
  })
}

/** @throws OAuthError 503 while the realm has no primary key */
export function encryptField({ keyring, context }: FieldCall, value: string | Buffer): Encrypted & { ok: true } {
  const encrypted = encryptValue(keyring, context, value)
  if (encrypted.ok) return encrypted
  throw new OAuthError('keyring_unavailable', 'The keys of the realm are not available yet')
}

/** @throws OAuthError 400 */
export function decryptField({ keyring, context }: FieldCall, ciphertext: string): Decrypted & { ok: true } {
  const decrypted = decryptValue(keyring, context, ciphertext)
  if (decrypted.ok) return decrypted
  throw new OAuthError(decrypted.error, DECRYPT_ERRORS[decrypted.error])
}

const DECRYPT_ERRORS: Readonly<Record<DecryptError, string>> = {
  invalid_ciphertext: 'The ciphertext is malformed',
  // One text for a changed byte, another field, another subject and another key.
  decryption_failed: 'The ciphertext cannot be decrypted',
  key_version_unknown: 'The key version of the ciphertext is not known in this realm',
  key_disabled: 'The key version of the ciphertext is disabled',
  key_destroyed: 'The key version of the ciphertext was destroyed',
}
