import { createApiClient } from '../kubernetes/api_client.ts'
import type { ApiClient } from '../kubernetes/api_client.ts'
import { processClock } from '../kubernetes/clock.ts'
import { ApiError } from '../kubernetes/api_error.ts'
import { kubeconfigAccess } from '../kubernetes/kubeconfig_access.ts'
import { PlainError } from '../process/plain_error.ts'
import { printable } from '../process/printable.ts'

/** The options of kubectl with the same names. */
export interface ClusterOptions {
  /** Default: KUBECONFIG, then `~/.kube/config`, then the ServiceAccount of the pod. */
  kubeconfig?: string | undefined
  context?: string | undefined
  /** Default: the context's, else `default`. */
  namespace?: string | undefined
  /** The user name to act as; needs the right to impersonate. */
  as?: string | undefined
  /** The groups to act as a member of. Without them, `as` has none of its own. */
  asGroups?: readonly string[] | undefined
}

/** A cluster as one caller may use it. Its idle connections keep the process alive until it is closed. */
export interface Cluster {
  client: ApiClient
  namespace: string
  close(): void
}

/** Reads the caller's kubeconfig and calls nothing. @throws ApiAccessError */
export function connectCluster({ kubeconfig, context, namespace, as, asGroups = [] }: ClusterOptions): Cluster {
  const access = kubeconfigAccess({ file: kubeconfig, context })
  const headers = {
    ...(as !== undefined && { 'Impersonate-User': as }),
    ...(asGroups.length > 0 && { 'Impersonate-Group': [...asGroups] }),
  }
  const client = createApiClient({ access, clock: processClock, headers })
  return { client, namespace: namespace ?? access.namespace ?? 'default', close: () => client.close() }
}

/** The caller's user name as the API server sees it (KEP-3325), impersonation included. Throws PlainError. */
export async function readUserName({ client }: Cluster): Promise<string> {
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const review = await client.object({ method: 'POST', path, body }).catch((error: unknown) => {
    throw refusalError('your user name cannot be read', error)
  })
  const { username = '' } = Object(Object(review['status'])['userInfo'])
  return String(username)
}

const MAX_MESSAGE_LENGTH = 2_000

/**
 * The PlainError for an error of the API server. It repeats the message of an admission policy, which names the policy.
 * Other errors are returned unchanged.
 */
export function refusalError(what: string, error: unknown): unknown {
  if (!(error instanceof ApiError)) return error
  // Without the name of the call.
  const message = error.message.replace(/^[A-Z]+ \/[^ ]*: (?:\d{3} )?/, '')
  const parts = [what, SITUATIONS[error.status], printable(message, MAX_MESSAGE_LENGTH)]
  return new PlainError(parts.filter(Boolean).join(': '))
}

const SITUATIONS: Record<number, string> = {
  0: 'the API server cannot be reached',
  401: 'the API server does not accept the credentials of the kubeconfig',
}
