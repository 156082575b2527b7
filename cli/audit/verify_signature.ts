import { readFile } from 'node:fs/promises'
import type { Pool } from 'pg'
import { isSignedBy, readClaimedState } from '../../operator/audit/signature.ts'
import { importLicenseKey } from '../../keyring/license.ts'
import { errorCode } from '../../process/loggable.ts'
import { PlainError } from '../../process/plain_error.ts'
import { findAuditSignature, headsDigest, readSignedHeads } from '../../store/operator/audit_heads.ts'
import type { SignedHead } from '../../store/operator/audit_heads.ts'
import { inTransaction } from '../../store/db.ts'

export interface SignatureCheck {
  /** Number, time and key of the signature; undefined when the database has none of the right form. */
  made: { number: number; at: string; keyId: string } | undefined
  /** Signed heads by writer; none unless the signature was verified. */
  heads: ReadonlyMap<string, SignedHead>
  /** Why the signature proves nothing, or not what was expected. */
  problem?: string
}

/**
 * Verifies the signature over the heads of all chains.
 * @param keyFile the public key, PEM or JWK, as the operator stored it in its Secret
 * @param leastNumber the number of a signature that was published
 * @throws PlainError when the file holds no public Ed25519 key
 */
export async function verifySignature(
  pool: Pool,
  keyFile: string,
  leastNumber: number | undefined,
): Promise<SignatureCheck> {
  const text = await readFile(keyFile, 'utf8').catch((error: unknown) => {
    throw new PlainError(`--audit-key ${keyFile} cannot be read (${errorCode(error)})`)
  })
  const key = await importLicenseKey(text, `--audit-key ${keyFile}`)
  // One snapshot: the operator may sign meanwhile.
  const { jws, heads, digest } = await inTransaction(
    pool,
    async (db) => {
      const jws = await findAuditSignature(db)
      const heads = new Map<string, SignedHead>()
      const digest = headsDigest()
      for await (const { position, writer, seq, hash, signedAt } of readSignedHeads(db)) {
        const head = { position, writer, seq, hash, signedAt }
        digest.add(head)
        heads.set(writer, head)
      }
      return { jws, heads, digest: digest.hex() }
    },
    'begin isolation level repeatable read read only',
  )
  const claimed = jws === undefined ? undefined : readClaimedState(jws)
  const made = claimed && { number: claimed.number, at: claimed.at.toISOString(), keyId: claimed.keyId }
  const refused = (problem: string): SignatureCheck => ({ made, heads: new Map(), problem })
  if (jws === undefined) return refused('the database has no signature: the operator made none yet, or it was removed')
  if (!claimed || !(await isSignedBy(jws, key))) {
    return refused('the signature in the database was not made with this key: it was replaced, or the key is another')
  }
  if (claimed.digest !== digest) {
    return refused(`the signed heads (table audit_heads) were changed after signature ${claimed.number} was made`)
  }
  if (leastNumber !== undefined && claimed.number < leastNumber) {
    return refused(
      `the database has signature ${claimed.number}, and number ${leastNumber} is expected: later rows and signatures were removed`,
    )
  }
  return { made, heads }
}
