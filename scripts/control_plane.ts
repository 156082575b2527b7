// npm run control-plane: builds the binaries of a Kubernetes control plane, which the cluster tests need, into a cache
// outside the checkout, and prints the path of each.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

const MODULES = join(import.meta.dirname, '../test/control_plane')

export type BinaryName =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kubectl'
  | 'helm'
  /** The oldest Kubernetes that the product supports. */
  | 'kube-apiserver-oldest'

interface Binary {
  name: BinaryName
  /** The Go package with its `main`. */
  package: string
  /** The folder of the go.mod that pins it. */
  module: string
  /** Always from the cache: the folder that KUBEBUILDER_ASSETS names holds one version. */
  onlyCached?: boolean
}

export const BINARIES: readonly Binary[] = [
  { name: 'etcd', package: 'go.etcd.io/etcd/server/v3', module: MODULES },
  { name: 'kube-apiserver', package: 'k8s.io/kubernetes/cmd/kube-apiserver', module: MODULES },
  { name: 'kubectl', package: 'k8s.io/kubernetes/cmd/kubectl', module: MODULES },
  { name: 'kube-controller-manager', package: 'k8s.io/kubernetes/cmd/kube-controller-manager', module: MODULES },
  { name: 'helm', package: 'helm.sh/helm/v4/cmd/helm', module: join(MODULES, 'helm') },
  {
    name: 'kube-apiserver-oldest',
    package: 'k8s.io/kubernetes/cmd/kube-apiserver',
    module: join(MODULES, 'oldest'),
    onlyCached: true,
  },
]

export type BinaryPaths = Record<BinaryName, string>

type Environment = NodeJS.ProcessEnv

/**
 * Returns the paths of all binaries: in the folder that KUBEBUILDER_ASSETS names when it is set, else in the cache,
 * where it builds the missing ones and logs one line for each. Throws when that folder lacks one, when Go is needed and
 * not in PATH, and when a build fails.
 */
export async function provideBinaries(
  log: (line: string) => void,
  environment: Environment = process.env,
): Promise<BinaryPaths> {
  const paths = binaryPaths(environment)
  const missing = BINARIES.filter(({ name }) => !existsSync(paths[name]))
  if (missing.length === 0) return paths

  const names = missing.map(({ name }) => name).join(', ')
  const absent = environment.KUBEBUILDER_ASSETS ? missing.filter(({ onlyCached }) => !onlyCached) : []
  if (absent.length > 0) {
    throw new Error(`KUBEBUILDER_ASSETS names a folder without ${absent.map(({ name }) => name).join(', ')}`)
  }
  const go = findGo(environment)
  if (go === undefined) {
    throw new Error(`cluster tests need ${names}: install Go, or set KUBEBUILDER_ASSETS to a folder that has them`)
  }
  for (const binary of missing) {
    log(`building ${binary.name} (${binary.package}); the first build takes minutes`)
    await build(go, binary, paths[binary.name], environment)
  }
  return paths
}

/** Like `provideBinaries`, without a build: returns the paths of the binaries that exist. */
export function presentBinaries(environment: Environment = process.env): Partial<BinaryPaths> {
  return Object.fromEntries(Object.entries(binaryPaths(environment)).filter(([, path]) => existsSync(path)))
}

/** The version of Kubernetes that the go.mod in a folder pins, as `v1.36.3`. */
export function kubernetesVersion(module: string = MODULES): string {
  const pinned = readFileSync(join(module, 'go.mod'), 'utf8')
  const version = /^\s*k8s\.io\/kubernetes (v\d+\.\d+\.\d+)\b/m.exec(pinned)?.[1]
  if (version === undefined) throw new Error(`${module}/go.mod requires no k8s.io/kubernetes`)
  return version
}

function binaryPaths(environment: Environment): BinaryPaths {
  const pathOf = ({ name, module, onlyCached }: Binary): string =>
    environment.KUBEBUILDER_ASSETS && !onlyCached
      ? join(environment.KUBEBUILDER_ASSETS, name)
      : cachedPath(name, module, environment)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- BINARIES holds every name
  return Object.fromEntries(BINARIES.map((binary) => [binary.name, pathOf(binary)])) as BinaryPaths
}

/** The folder's name is a digest of what pins the versions: a changed go.mod builds new binaries. */
function cachedPath(name: BinaryName, module: string, environment: Environment): string {
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(module, file)))
  const cache = environment.XDG_CACHE_HOME || join(homedir(), '.cache')
  return join(cache, 'realmkeeper', 'control-plane', hash.digest('hex').slice(0, 16), name)
}

function findGo(environment: Environment): string | undefined {
  const folders = (environment.PATH ?? '').split(delimiter).filter(Boolean)
  return folders.map((folder) => join(folder, 'go')).find((path) => existsSync(path))
}

/** Builds under a temporary name and renames: an interrupted build leaves no partial binary at `path`. */
async function build(go: string, binary: Binary, path: string, environment: Environment): Promise<void> {
  const unfinished = `${path}.${process.pid}.unfinished`
  await mkdir(dirname(path), { recursive: true })
  const args = ['build', '-trimpath', '-ldflags', linkerFlags(binary), '-o', unfinished, binary.package]
  try {
    await run(go, args, binary.module, { ...environment, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' })
    await rename(unfinished, path)
  } finally {
    await rm(unfinished, { force: true })
  }
}

/** Without these the API server reports v0.0.0, and helm refuses a chart that requires a newer Kubernetes. */
function linkerFlags({ name, module }: Binary): string {
  // helm pins no Kubernetes: it reports that of the control plane.
  const version = kubernetesVersion(name === 'helm' ? MODULES : module)
  const [major, minor] = version.slice(1).split('.')
  const values = {
    'k8s.io/component-base/version.gitVersion': version,
    'k8s.io/component-base/version.gitMajor': major,
    'k8s.io/component-base/version.gitMinor': minor,
    'k8s.io/component-base/version.gitTreeState': 'clean',
    'k8s.io/client-go/pkg/version.gitVersion': version,
  }
  return ['-s', '-w', ...Object.entries(values).map(([name, value]) => `-X ${name}=${value}`)].join(' ')
}

function run(program: string, args: string[], cwd: string, env: Environment): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] })
    let errors = ''
    child.stderr.on('data', (chunk: Buffer) => {
      errors = (errors + chunk.toString()).slice(-4_000)
    })
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`go ${args.at(-1)} failed with ${code}:\n${errors}`))
    })
  })
}

if (import.meta.main) {
  try {
    const paths = await provideBinaries((line) => console.log(line))
    for (const [name, path] of Object.entries(paths)) console.log(`${name}: ${path}`)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
