import { createHmac } from 'node:crypto'
import { signJws } from '../../keyring/jws.ts'
import type { Keyring } from '../../keyring/keyring.ts'
import { loadKeyring } from '../../keyring/loaded_keyring.ts'

export type Part = Record<string, unknown>

/** The parts of a token as they were sent, unverified. */
export function tokenParts(token: string): { header: Part; payload: Part; signature: string } {
  const [header = '', payload = '', signature = ''] = token.split('.')
  return { header: decode(header), payload: decode(payload), signature }
}

/** A token like this one with other members, signed by the realm's own key: what only we could have made. */
export function resigned(token: string, keyring: Keyring, change: { header?: Part; payload?: Part }): string {
  const { header, payload } = tokenParts(token)
  const { signer } = loadKeyring(keyring)
  if (!signer) throw new Error('the keyring has no active signing key')
  return signJws(
    { ...header, alg: signer.alg, kid: signer.kid, ...change.header },
    { ...payload, ...change.payload },
    signer.privateKey,
  )
}

/** A token with another header over the payload and, unless given, the signature of this one. */
export function withHeader(token: string, header: Part, signature: string = tokenParts(token).signature): string {
  return `${encode(header)}.${token.split('.')[1]}.${signature}`
}

/** The classic confusion: signed with HMAC, the public key's text as the secret. */
export function hmacWithPublicKey(token: string, keyring: Keyring): string {
  const { header } = tokenParts(token)
  const verifier = loadKeyring(keyring).verifiers.get(String(header.kid))
  if (!verifier) throw new Error('the keyring does not hold the key of this token')
  const input = `${encode({ ...header, alg: 'HS256' })}.${token.split('.')[1]}`
  const secret = verifier.publicKey.export({ type: 'spki', format: 'pem' })
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

function encode(part: Part): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

function decode(part: string): Part {
  const decoded: Part = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
  return decoded
}
