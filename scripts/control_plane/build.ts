import { spawn } from 'node:child_process'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { BINARIES, cachedPath, findGo, kubernetesVersion, presentBinaries } from './binaries.ts'
import type { Binary, BinaryPaths } from './binaries.ts'

export interface BuildOptions {
  environment?: NodeJS.ProcessEnv
  /** Told one line for each binary that is built. */
  say: (line: string) => void
}

/**
 * Every binary of the control plane: those that are there, and those that Go can build. None are built where
 * KUBEBUILDER_ASSETS names a folder, or where there is no Go. Throws when a build fails.
 */
export async function provideBinaries({ environment = process.env, say }: BuildOptions): Promise<BinaryPaths> {
  const go = findGo(environment)
  if (go !== undefined && !environment.KUBEBUILDER_ASSETS) {
    const present = presentBinaries(environment)
    for (const binary of BINARIES.filter(({ name }) => present[name] === undefined)) {
      say(`building ${binary.name} (${binary.package}); the first time takes minutes`)
      await build(go, binary, environment)
    }
  }
  return presentBinaries(environment)
}

/** Builds under a temporary name and renames, so that a build that was cut off is not taken for a whole one. */
async function build(go: string, binary: Binary, environment: NodeJS.ProcessEnv): Promise<void> {
  const path = cachedPath(binary, environment)
  const unfinished = `${path}.${process.pid}.unfinished`
  await mkdir(dirname(path), { recursive: true })
  const args = ['build', '-trimpath', '-ldflags', linkerFlags(), '-o', unfinished, binary.package]
  try {
    await run(go, args, binary.module, { ...environment, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' })
    await rename(unfinished, path)
  } finally {
    await rm(unfinished, { force: true })
  }
}

/** Without its version the API server says v0.0.0, and a chart that asks for a newer Kubernetes is refused. */
function linkerFlags(): string {
  const version = kubernetesVersion()
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

function run(program: string, args: string[], cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-4_000)
    })
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`go ${args.at(-1)} failed with ${code}:\n${said}`))
    })
  })
}
