/**
 * Thrown when something that this resource relies on is not settled: its realm is yet to be reconciled, a list is
 * known to be incomplete. Nothing is said in status; the key is tried again.
 */
export class NotYet extends Error {
  override readonly name = 'NotYet'
}
