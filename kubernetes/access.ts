import { readFile } from 'node:fs/promises'
import type { RequestOptions } from 'node:https'
import { isIPv6 } from 'node:net'

/** Where an API server is, and what one call presents to it. Never log one. */
export interface ApiAccess {
  /** Without a slash at its end; the API server may be served under a path. */
  url: string
  /** Authorization and impersonation. */
  headers: Record<string, string>
  /** Certificates and keys (PEM), the name to expect in the API server's certificate; an agent for a proxy. */
  connection: Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized' | 'agent'>
}

/** Access to one API server as one identity. */
export interface AccessSource {
  /** For one call: reads the files that are replaced under a running process (token, certificate, authority). */
  read(): Promise<ApiAccess>
  /** Drops what `read` keeps. Absent where it keeps nothing. */
  reload?(): void
}

/** The API server or the identity to use there cannot be determined. The message says what to do and holds no secret. */
export class ApiAccessError extends Error {
  override readonly name = 'ApiAccessError'
  /** Shown without a stack. */
  readonly plain = true
}

/** Where Kubernetes mounts a pod's ServiceAccount. */
const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'

/**
 * Access to the API server of the cluster that this pod runs in, as the pod's ServiceAccount. Loads no library: a
 * process that uses only this does not pay for the memory of `@kubernetes/client-node`.
 */
export function inClusterAccess(
  { host, port }: { host: string; port: string },
  folder: string = SERVICE_ACCOUNT_FOLDER,
): AccessSource {
  return {
    async read() {
      const [ca, token] = await Promise.all([readText(`${folder}/ca.crt`), readText(`${folder}/token`)])
      if (token.trim() === '') throw emptyTokenFile(`${folder}/token`)
      return {
        url: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
        headers: { Authorization: `Bearer ${token.trim()}` },
        connection: { ca },
      }
    },
  }
}

/** A token file is empty for a moment while it is replaced. A call without a token would be anonymous. */
export function emptyTokenFile(file: string): ApiAccessError {
  return new ApiAccessError(`the token file ${file} is empty`)
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    throw new ApiAccessError(`${file} cannot be read: ${code}`)
  }
}
