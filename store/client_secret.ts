import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** The stored form of a client secret. Secrets are long and random, so one salted SHA-256 is enough. */
export interface SecretHash {
  salt: Buffer
  hash: Buffer
}

/** SHA-256 over the salt and the secret's UTF-8 bytes. */
export function hashClientSecret(secret: string, salt: Buffer = randomBytes(16)): SecretHash {
  return { salt, hash: hash('sha256', Buffer.concat([salt, Buffer.from(secret, 'utf8')]), 'buffer') }
}

/** Compares in constant time. */
export function isClientSecret(secret: string, stored: SecretHash): boolean {
  const { hash: presented } = hashClientSecret(secret, stored.salt)
  return presented.length === stored.hash.length && timingSafeEqual(presented, stored.hash)
}
