import { readFileSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { dirname, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { KubeConfig } from '@kubernetes/client-node'
import { parse } from 'yaml'
import { ApiAccessError, emptyTokenFile } from './access.ts'
import type { AccessSource } from './access.ts'

export interface KubeconfigOptions {
  /** A kubeconfig file. Default: KUBECONFIG, then `~/.kube/config`, then the ServiceAccount of the pod. */
  file?: string | undefined
  /** One of its contexts. Default: the current one. */
  context?: string | undefined
  /**
   * For a process that fetches keys without a person at its terminal: refuses a kubeconfig that starts a program to log
   * in, uses a password or a proxy, or does not check the certificate of the API server.
   */
  unattended?: boolean
}

export interface KubeconfigAccess extends AccessSource {
  /** The namespace of the context. */
  namespace: string | undefined
}

/** The server that `@kubernetes/client-node` assumes when nothing is configured. */
const UNCONFIGURED_SERVER = 'http://localhost:8080'

/** Access as a kubeconfig describes it. Reads the configuration at once and calls nothing. @throws ApiAccessError */
export function kubeconfigAccess(options: KubeconfigOptions = {}): KubeconfigAccess {
  const config = loadKubeconfig(options)
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace
  return { ...configAccess(() => loadKubeconfig(options), config), namespace: namespace || undefined }
}

/** Access from `config`, which is loaded when there is none, and again after `reload`. */
export function configAccess(load: () => KubeConfig, config?: KubeConfig): AccessSource {
  let loaded = config
  return {
    async read() {
      const used = (loaded ??= load())
      const options: RequestOptions = {}
      await used.applyToHTTPSOptions(options).catch((error: unknown) => {
        throw new ApiAccessError(error instanceof Error ? error.message : String(error))
      })
      const headers = trimmed(options.headers)
      const tokenFile = tokenFileOf(used)
      if (tokenFile !== undefined && !/^Bearer ./.test(headers.Authorization ?? '')) {
        // The library would keep the empty token for a minute. A newly loaded configuration reads the file again.
        if (loaded === used) loaded = undefined
        throw emptyTokenFile(tokenFile)
      }
      const { server = '', proxyUrl } = used.getCurrentCluster() ?? {}
      const { agent, headers: _, ...connection } = options
      return {
        url: server.replace(/\/+$/, ''),
        headers,
        connection: { ...connection, ...(proxyUrl !== undefined && agent && { agent }) },
      }
    },
    reload() {
      loaded = undefined
    },
  }
}

/** Reads a kubeconfig. The error never repeats the content of a file. @throws ApiAccessError */
function loadKubeconfig({ file, context, unattended = false }: KubeconfigOptions = {}): KubeConfig {
  const config = new KubeConfig()
  const source = file ?? 'the kubeconfig'
  try {
    if (file === undefined) config.loadFromDefault()
    else loadFile(config, file)
  } catch (error) {
    const code: unknown = error instanceof Error && Reflect.get(error, 'code')
    throw new ApiAccessError(code === 'ENOENT' ? `${source}: no such file` : `${source} is not a valid kubeconfig`)
  }
  if (context !== undefined) config.setCurrentContext(context)

  const server = config.getCurrentCluster()?.server
  if (server === undefined) {
    throw new ApiAccessError(`${source}: the context ${JSON.stringify(config.getCurrentContext())} names no cluster`)
  }
  if (file === undefined && server === UNCONFIGURED_SERVER) {
    throw new ApiAccessError('no cluster is configured: set KUBECONFIG, or run in a pod with a ServiceAccount')
  }
  const refusal = unattended ? unattendedRefusal(config) : undefined
  if (refusal !== undefined) throw new ApiAccessError(`${source}: ${refusal}`)
  return config
}

/** Adds `tokenFile` of a user, which the library supports only for the ServiceAccount of a pod. */
function loadFile(config: KubeConfig, file: string): void {
  config.loadFromFile(file)
  const { users }: { users?: { name: string; user?: { tokenFile?: string } }[] } = parse(readFileSync(file, 'utf8'))
  for (const { name, user } of users ?? []) {
    const loaded = config.getUser(name)
    if (!loaded || !user?.tokenFile) continue
    const tokenFile = resolve(dirname(file), user.tokenFile)
    // As in client-go, a token file wins over a token.
    Object.assign(loaded, { token: undefined, authProvider: fileProvider(tokenFile) })
  }
}

function fileProvider(tokenFile: string) {
  return { name: 'tokenFile', config: { tokenFile } }
}

/** The file that holds the token of the current user, of a kubeconfig or of a pod's ServiceAccount. */
function tokenFileOf(config: KubeConfig): string | undefined {
  const { tokenFile }: { tokenFile?: string } = config.getCurrentUser()?.authProvider?.config ?? {}
  return tokenFile
}

function unattendedRefusal(config: KubeConfig): string | undefined {
  const cluster = config.getCurrentCluster()
  const user = config.getCurrentUser()
  if (!user) return 'its current context names no user of the file'
  if (!cluster?.server.startsWith('https://')) return 'its cluster has no server that begins with https://'
  if (cluster.skipTLSVerify) {
    return 'insecure-skip-tls-verify: keys are not fetched from an API server whose certificate is not checked'
  }
  if (cluster.proxyUrl !== undefined) return 'proxy-url is not supported here'
  // Other providers may have a token file too, and start a program.
  const isTokenFile = isDeepStrictEqual(user.authProvider, fileProvider(tokenFileOf(config) ?? ''))
  const used = {
    exec: user.exec,
    'auth-provider': isTokenFile ? undefined : user.authProvider,
    username: user.username,
  }
  const unsupported = Object.entries(used).find(([, value]) => value !== undefined && value !== null)?.[0]
  return unsupported && `${unsupported} is not supported here; use a token, a token file or a certificate`
}

/** A token file often ends with a newline, which a header may not contain. */
function trimmed(headers: RequestOptions['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, String(value).trim()]))
}
