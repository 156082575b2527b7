import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { parse } from 'yaml'
import { PlainError } from '../../../process/plain_error.ts'

export interface KubeConfigOptions {
  /** A kubeconfig file. Default: KUBECONFIG, then `~/.kube/config`, then the ServiceAccount of the pod. */
  file?: string | undefined
  /** One of its contexts; default: its current one. */
  context?: string | undefined
}

/** There is no cluster to talk to, or its description cannot be read; the message says what to do. */
export class KubeConfigError extends PlainError {
  override readonly name = 'KubeConfigError'
}

/** What the Kubernetes client makes of no configuration at all. */
const NOWHERE = 'http://localhost:8080'

/** Reads where the cluster is and who one is there. Throws KubeConfigError; it never repeats what a file holds. */
export function loadKubeConfig({ file, context }: KubeConfigOptions = {}): KubeConfig {
  const config = new KubeConfig()
  const from = file ?? 'the kubeconfig'
  try {
    if (file === undefined) config.loadFromDefault()
    else loadFile(config, file)
  } catch (error) {
    const code: unknown = error instanceof Error && Reflect.get(error, 'code')
    const why = code === 'ENOENT' ? 'there is no such file' : 'it is no kubeconfig that can be read'
    throw new KubeConfigError(`${from}: ${why}`)
  }
  if (context !== undefined) config.setCurrentContext(context)

  const server = config.getCurrentCluster()?.server
  if (server === undefined) {
    const named = config.getCurrentContext()
    throw new KubeConfigError(`${from}: the context ${JSON.stringify(named)} names no cluster`)
  }
  if (file === undefined && server === NOWHERE) {
    throw new KubeConfigError('no cluster is configured: set KUBECONFIG, or run in a pod with a ServiceAccount')
  }
  return config
}

/** With `tokenFile` of a user, which the Kubernetes client knows only of the ServiceAccount of a pod. */
function loadFile(config: KubeConfig, file: string): void {
  config.loadFromFile(file)
  const { users }: { users?: NamedUser[] } = parse(readFileSync(file, 'utf8'))
  for (const { name, user } of users ?? []) {
    const loaded = config.getUser(name)
    if (!loaded || !user?.tokenFile) continue
    const tokenFile = resolve(dirname(file), user.tokenFile)
    Object.assign(loaded, { authProvider: { name: 'tokenFile', config: { tokenFile } } })
  }
}

/** The file that holds the token of the present user, where there is one: `loadFile` names it, or the pod's ServiceAccount. */
export function tokenFileOf(config: KubeConfig): string | undefined {
  const { tokenFile }: { tokenFile?: string } = config.getCurrentUser()?.authProvider?.config ?? {}
  return tokenFile
}

interface NamedUser {
  name: string
  user?: { tokenFile?: string }
}
