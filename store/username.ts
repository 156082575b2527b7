import { createHash } from 'node:crypto'

// Apart from the statements: `realmkeeper validate` compares names and must not load the PostgreSQL client.

/** A user name as names are compared: NFKC, lower case, NFKC again (lower-casing can leave the normal form). */
export function usernameKey(username: string): string {
  return username.normalize('NFKC').toLowerCase().normalize('NFKC')
}

/** The key under which failed logins of a name are counted, with or without such a user. */
export function usernameDigest(username: string): Buffer {
  return createHash('sha256').update(usernameKey(username).trim(), 'utf8').digest()
}
