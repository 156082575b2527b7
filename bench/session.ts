import { fieldCall, FIELD_SCOPE, introspectCall, loginCall, once, refreshCall, userinfoCall } from './calls.ts'
import type { Call } from './load.ts'
import { FIELD, PASSWORD } from './world.ts'

/** The roles of the benchmark's field. */
export const ROLES = [`_svc_${FIELD.tag}.selfencrypt`, `_svc_${FIELD.tag}.selfdecrypt`]
const VALUE = { field: FIELD.name, value: '1990-04-01' }

/** A session of one user, with all scopes that the user may have. */
export interface Session {
  /** Refreshes and returns the status of the answer. */
  refreshStatus(): Promise<number>
  userinfo(): Promise<Record<string, string>>
  /** Whether a new token has roles of the field. */
  hasRoles(): Promise<boolean>
  /** Whether a new token may encrypt. */
  mayEncrypt(): Promise<boolean>
  /** Keeps the present token. The result checks that introspection shows no role for it and that decrypt refuses it. */
  keepToken(): Promise<() => Promise<boolean>>
}

export async function logIn(port: number, realm: string, user: number, password = PASSWORD): Promise<Session> {
  async function answer(call: Call): Promise<Record<string, string>> {
    const { status, body } = await once(port, call)
    if (status !== 200) throw new Error(`${call.path}: ${status} ${body.error}`)
    return body
  }
  let tokens = await answer(loginCall(realm, user, { password, scope: `${FIELD_SCOPE} profile` }))
  const access = (): string => tokens.access_token ?? ''

  async function refresh(): Promise<number> {
    const { status, body } = await once(port, refreshCall(realm, tokens.refresh_token ?? ''))
    if (status === 200) tokens = body
    return status
  }

  async function hasRoles(): Promise<boolean> {
    if ((await refresh()) !== 200) throw new Error('the session has ended')
    const { realm_access } = JSON.parse(Buffer.from(access().split('.')[1] ?? '', 'base64url').toString())
    return ROLES.some((role) => realm_access?.roles.includes(role))
  }

  return {
    refreshStatus: refresh,
    userinfo: () => answer(userinfoCall(realm, access())),
    hasRoles,
    async mayEncrypt() {
      return (await hasRoles()) && (await once(port, fieldCall(realm, 'encrypt', access(), VALUE))).status === 200
    },
    async keepToken() {
      const old = access()
      const { ciphertext } = await answer(fieldCall(realm, 'encrypt', old, VALUE))
      const decrypt = fieldCall(realm, 'decrypt', old, { field: FIELD.name, ciphertext })
      return async () => {
        const introspected = await answer(introspectCall(realm, old))
        if (ROLES.some((role) => JSON.stringify(introspected.realm_access).includes(role))) return false
        return (await once(port, decrypt)).status === 403
      }
    },
  }
}

export async function canLogIn(port: number, realm: string, user: number, password = PASSWORD): Promise<boolean> {
  return (await once(port, loginCall(realm, user, { password }))).status === 200
}
