import { createHash } from 'node:crypto'
import type { Cluster } from '../../kubeconfig.ts'
import { refusalError } from './refusal.ts'

const PATH = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

/** The caller's user name as the API server sees it (KEP-3325), impersonation included. Throws DecisionError. */
export async function readUserName({ client }: Cluster): Promise<string> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const review = await client.object({ method: 'POST', path: PATH, body }).catch((error: unknown) => {
    throw refusalError('your user name cannot be read', error)
  })
  const { username = '' } = Object(Object(review['status'])['userInfo'])
  return String(username)
}

/**
 * A field manager for each approver: under a shared one, the apply of a second approver would remove the entry of the
 * first.
 */
export function approverFieldManager(userName: string): string {
  return `realmkeeper-approver-${createHash('sha256').update(userName).digest('hex').slice(0, 16)}`
}
