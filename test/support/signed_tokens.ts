import { constants, createHmac, sign } from 'node:crypto'
import { exportSPKI } from 'jose'
import type { HmacKey, Signer, SigningAlgorithm } from '../../keyring/jws.ts'
import type { Keyring } from '../../keyring/keyring.ts'
import { loadKeyring } from '../../keyring/loaded_keyring.ts'

export type Part = Record<string, unknown>

const DIGESTS: Record<SigningAlgorithm, string | null> = {
  RS256: 'sha256',
  PS256: 'sha256',
  ES256: 'sha256',
  ES384: 'sha384',
  EdDSA: null,
}
const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }

/** A compact JWS of any header and payload, valid or not: the product's own signing refuses to make some of them. */
export async function rawJws(header: Part | string, payload: Part | string, signer: Signer | HmacKey): Promise<string> {
  const input = [header, payload].map((part) => encode(part)).join('.')
  const options = { key: signer.key, dsaEncoding: 'ieee-p1363' as const, ...(signer.alg === 'PS256' && PSS) }
  const signature =
    signer.alg === 'HS512'
      ? createHmac('sha512', signer.key).update(input).digest()
      : sign(DIGESTS[signer.alg], Buffer.from(input), options)
  return `${input}.${signature.toString('base64url')}`
}

/** The parts of a token as they were sent, unverified. */
export function tokenParts(token: string): { header: Part; payload: Part; signature: string } {
  const [header = '', payload = '', signature = ''] = token.split('.')
  return { header: decode(header), payload: decode(payload), signature }
}

/** This token with other members, signed by the realm's own key. */
export async function resigned(
  token: string,
  keyring: Keyring,
  change: { header?: Part; payload?: Part },
): Promise<string> {
  const { header, payload } = tokenParts(token)
  const { signer } = await loadKeyring(keyring)
  if (!signer) throw new Error('the keyring has no active signing key')
  return rawJws(
    { ...header, alg: signer.alg, kid: signer.kid, ...change.header },
    { ...payload, ...change.payload },
    signer,
  )
}

/** This token with another header and, if given, another signature. */
export function withHeader(token: string, header: Part, signature: string = tokenParts(token).signature): string {
  return `${encode(header)}.${token.split('.')[1]}.${signature}`
}

/** Algorithm confusion: signed with HMAC, with the public key's PEM text as the secret. */
export async function hmacWithPublicKey(token: string, keyring: Keyring): Promise<string> {
  const { header } = tokenParts(token)
  const verifier = (await loadKeyring(keyring)).verifiers.get(String(header.kid))
  if (!verifier) throw new Error('the keyring does not hold the key of this token')
  const input = `${encode({ ...header, alg: 'HS256' })}.${token.split('.')[1]}`
  return `${input}.${createHmac('sha256', await exportSPKI(verifier.key))
    .update(input)
    .digest('base64url')}`
}

function encode(part: Part | string): string {
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')
}

function decode(part: string): Part {
  const decoded: Part = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
  return decoded
}
