import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

const MODULES = join(import.meta.dirname, '../../test/control_plane')

export type BinaryName = 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kubectl' | 'helm'

export interface Binary {
  name: BinaryName
  /** The Go package with its `main`. */
  package: string
  /** The folder of the go.mod that pins it. */
  module: string
}

/** In the order in which they are built: what is needed first comes first. */
export const BINARIES: readonly Binary[] = [
  { name: 'etcd', package: 'go.etcd.io/etcd/server/v3', module: MODULES },
  { name: 'kube-apiserver', package: 'k8s.io/kubernetes/cmd/kube-apiserver', module: MODULES },
  { name: 'kubectl', package: 'k8s.io/kubernetes/cmd/kubectl', module: MODULES },
  { name: 'kube-controller-manager', package: 'k8s.io/kubernetes/cmd/kube-controller-manager', module: MODULES },
  { name: 'helm', package: 'helm.sh/helm/v4/cmd/helm', module: join(MODULES, 'helm') },
]

/** The version of Kubernetes that the go.mod pins, as `v1.36.3`. */
export function kubernetesVersion(): string {
  const version = /^\s*k8s\.io\/kubernetes (v\d+\.\d+\.\d+)\b/m.exec(read(MODULES, 'go.mod'))?.[1]
  if (version === undefined) throw new Error(`${MODULES}/go.mod requires no k8s.io/kubernetes`)
  return version
}

/** Where a binary lies once it is built: outside the checkout, and elsewhere as soon as what pins it changes. */
export function cachedPath({ name, module }: Binary, environment: NodeJS.ProcessEnv = process.env): string {
  const hash = createHash('sha256').update(read(module, 'go.mod')).update(read(module, 'go.sum')).digest('hex')
  const cache = environment.XDG_CACHE_HOME || join(homedir(), '.cache')
  return join(cache, 'realmkeeper', 'control-plane', hash.slice(0, 16), name)
}

/** Paths of binaries by name; one that is not there is left out. */
export type BinaryPaths = Partial<Record<BinaryName, string>>

/** What is there already: in the folder that KUBEBUILDER_ASSETS names when it is set, else in the cache. */
export function presentBinaries(environment: NodeJS.ProcessEnv = process.env): BinaryPaths {
  const assets = environment.KUBEBUILDER_ASSETS
  const paths = BINARIES.map((binary) => [
    binary.name,
    assets ? join(assets, binary.name) : cachedPath(binary, environment),
  ])
  return Object.fromEntries(paths.filter(([, path]) => path !== undefined && existsSync(path)))
}

/** The path of the Go tool, when there is one. */
export function findGo(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const folders = (environment.PATH ?? '').split(delimiter).filter(Boolean)
  return folders.map((folder) => join(folder, 'go')).find((path) => existsSync(path))
}

function read(folder: string, file: string): string {
  return readFileSync(join(folder, file), 'utf8')
}
