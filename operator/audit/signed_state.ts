import { findAuditSignature, headsDigest, readSignedHeads } from '../../store/operator/audit_heads.ts'
import type { ChainHead, SignedHead } from '../../store/operator/audit_heads.ts'
import type { StoreAccess } from '../rows/store_access.ts'
import type { AuditKey } from './audit_secret.ts'
import { isSignedBy, readClaimedState } from './signature.ts'
import type { AuditState } from './signature.ts'

/** The state that heads in the database are compared with, or why none can be trusted. */
export async function trustedState(
  { db }: StoreAccess,
  { signed, publicKey }: AuditKey,
): Promise<{ trusted: AuditState; problem?: string }> {
  const jws = await findAuditSignature(db)
  if (jws === undefined) {
    if (signed.number === 0) return { trusted: signed }
    return { trusted: signed, problem: `the database has no signature, and number ${signed.number} was made` }
  }
  const claimed = readClaimedState(jws)
  if (claimed?.number === signed.number && claimed.digest === signed.digest) return { trusted: signed }
  const isOurs = claimed !== undefined && (await isSignedBy(jws, publicKey))
  if (!isOurs) return { trusted: signed, problem: 'the database has a signature that this key did not make' }
  // The process ended between the commit and the write of the Secret.
  if (claimed.number > signed.number) return { trusted: claimed }
  const problem = `the database has signature ${claimed.number}, and number ${signed.number} was made`
  return { trusted: signed, problem }
}

/**
 * The signed heads after a change: those that change, and the digest of all.
 * @throws Error when the former heads are not those of the trusted state any more
 */
export async function nextHeads(
  { db }: StoreAccess,
  change: { trusted: AuditState; heads: Map<string, ChainHead>; removed: string[]; reset: boolean; at: Date },
): Promise<{ changed: SignedHead[]; digest: string }> {
  const { trusted, heads, removed, reset, at: signedAt } = change
  const [before, after] = [headsDigest(), headsDigest()]
  const rest = new Map(heads)
  const changed: SignedHead[] = []
  let last = 0
  // What is signed was verified against the trusted digest in this same pass.
  for await (const former of reset ? [] : readSignedHeads(db)) {
    before.add(former)
    last = former.position
    const head = rest.get(former.writer)
    rest.delete(former.writer)
    if (head) changed.push({ ...head, position: former.position, signedAt })
    if (!removed.includes(former.writer)) after.add(head ? { ...head, position: former.position, signedAt } : former)
  }
  if (before.hex() !== trusted.digest) throw new Error('the signed heads were changed while they were read')
  for (const head of rest.values()) {
    last += 1
    const added = { ...head, position: last, signedAt }
    changed.push(added)
    after.add(added)
  }
  return { changed, digest: after.hex() }
}
