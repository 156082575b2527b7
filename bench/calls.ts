import type { Call } from './load.ts'
import { FIELD, PASSWORD, SECRET } from './world.ts'

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }
const oidc = (realm: string): string => `/auth/realms/${realm}/protocol/openid-connect`
const form = (fields: Record<string, string>): string => new URLSearchParams(fields).toString()
const CLIENT = { client_id: 'shop', client_secret: SECRET }

export const FIELD_SCOPE = `openid _svc_${FIELD.tag}.selfencrypt _svc_${FIELD.tag}.selfdecrypt`

export function loginCall(realm: string, user: number, more: Record<string, string> = {}): Call {
  const fields = { grant_type: 'password', ...CLIENT, username: `user-${user}`, password: PASSWORD, ...more }
  return { method: 'POST', path: `${oidc(realm)}/token`, headers: FORM, body: form(fields) }
}

export function refreshCall(realm: string, refreshToken: string): Call {
  const fields = { grant_type: 'refresh_token', ...CLIENT, refresh_token: refreshToken }
  return { method: 'POST', path: `${oidc(realm)}/token`, headers: FORM, body: form(fields) }
}

export function introspectCall(realm: string, token: string): Call {
  return { method: 'POST', path: `${oidc(realm)}/token/introspect`, headers: FORM, body: form({ ...CLIENT, token }) }
}

export function userinfoCall(realm: string, token: string): Call {
  return { method: 'GET', path: `${oidc(realm)}/userinfo`, headers: { Authorization: `Bearer ${token}` } }
}

export function fieldCall(realm: string, operation: 'encrypt' | 'decrypt', token: string, body: object): Call {
  return {
    method: 'POST',
    path: `/realms/${realm}/protocol/openid-connect/${operation}`,
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  }
}

/** Sends one call and parses the answer. */
export async function once(
  port: number,
  { method, path, headers, body }: Call,
): Promise<{ status: number; body: Record<string, string> }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers,
    ...(method === 'POST' && { body: body ?? '' }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}

/** Logs one user in for each connection. */
export async function logIn(
  port: number,
  realm: string,
  users: number,
  scope = 'openid',
): Promise<Record<string, string>[]> {
  const answers: Record<string, string>[] = []
  for (let user = 0; user < users; user++) {
    const { status, body } = await once(port, loginCall(realm, user, { scope }))
    if (status !== 200) throw new Error(`user-${user} cannot log in: ${status} ${body.error}`)
    answers.push(body)
  }
  return answers
}
