import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { PlainError } from '../../../process/plain_error.ts'

/** Where an API server is, and who one is there. Certificates and keys are PEM. Never log one. */
export interface ApiAccess {
  /** Begins with `https://`; without a slash at its end. */
  url: string
  /** Who the server's certificate has to be signed by; undefined: one of those that the system trusts. */
  ca?: string | undefined
  /** The name in the server's certificate, where it is not that of the URL. */
  servername?: string | undefined
  token?: string | undefined
  cert?: string | undefined
  key?: string | undefined
}

/**
 * Reads it anew for every call: tokens, certificates and authorities are replaced under a running process. Rejects with
 * ApiAccessError.
 */
export type ReadAccess = () => Promise<ApiAccess>

/** It cannot be said where the API server is, or as whom to go there; the message says what to do, and holds no secret. */
export class ApiAccessError extends PlainError {
  override readonly name = 'ApiAccessError'
}

/** Where Kubernetes puts a pod's ServiceAccount. */
const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The API server of the cluster that this pod runs in, as the pod's ServiceAccount. */
export function inClusterAccess(
  { host, port }: { host: string; port: string },
  folder: string = SERVICE_ACCOUNT_FOLDER,
): ReadAccess {
  return async () => ({
    url: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    ca: await readText(`${folder}/ca.crt`),
    token: (await readText(`${folder}/token`)).trim(),
  })
}

/** Reads a file. @throws ApiAccessError without anything of its content */
export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    throw new ApiAccessError(`${file} cannot be read: ${code}`)
  }
}
