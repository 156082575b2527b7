import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { BINARIES, kubernetesVersion, presentBinaries, provideBinaries } from '../../scripts/control_plane.ts'

let folder: string
let environment: NodeJS.ProcessEnv
let lines: string[]
const log = (line: string): void => void lines.push(line)

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'realmkeeper-binaries-'))
  environment = { PATH: `${folder}/bin:/usr/bin:/bin`, XDG_CACHE_HOME: join(folder, 'cache') }
  lines = []
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Puts a shell script named `go` into PATH; `$out` is the file that the caller asks it to write. */
function installGo(script: string): void {
  mkdirSync(join(folder, 'bin'), { recursive: true })
  const findOut = 'while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done'
  writeFileSync(join(folder, 'bin/go'), `#!/bin/sh\n${findOut}\n${script}\n`)
  chmodSync(join(folder, 'bin/go'), 0o755)
}

test('the versions are those that the go.mod files pin', () => {
  expect(kubernetesVersion()).toMatch(/^v1\.\d+\.\d+$/)
  const { module } = BINARIES.find(({ name }) => name === 'kube-apiserver-oldest')!
  // charts/realmkeeper/Chart.yaml and docs/install.md promise this version.
  expect(kubernetesVersion(module)).toMatch(/^v1\.30\.\d+$/)
})

test('without Go and without a cache, the error names the missing binaries and the ways out', async () => {
  const withoutGo = { ...environment, PATH: folder }
  expect(presentBinaries(withoutGo)).toEqual({})
  await expect(provideBinaries(log, withoutGo)).rejects.toThrow(
    'cluster tests need etcd, kube-apiserver, kubectl, kube-controller-manager, helm, kube-apiserver-oldest: ' +
      'install Go, ' +
      'or set KUBEBUILDER_ASSETS to a folder that has them',
  )
  expect(lines).toEqual([])
})

test('the folder that KUBEBUILDER_ASSETS names is used as it is; only the oldest API server is built', async () => {
  installGo('exit 1')
  const withAssets = { ...environment, KUBEBUILDER_ASSETS: folder }
  writeFileSync(join(folder, 'etcd'), '')
  expect(presentBinaries(withAssets)).toEqual({ etcd: join(folder, 'etcd') })
  await expect(provideBinaries(log, withAssets)).rejects.toThrow(/a folder without kube-apiserver, kubectl/)

  const inAssets = BINARIES.filter(({ onlyCached }) => !onlyCached)
  for (const { name } of inAssets) writeFileSync(join(folder, name), '')
  installGo('echo built > "$out"')
  const paths = await provideBinaries(log, withAssets)
  expect(paths).toEqual(presentBinaries(withAssets))
  for (const { name } of inAssets) expect(paths[name]).toBe(join(folder, name))
  expect(lines).toEqual([expect.stringContaining('building kube-apiserver-oldest')])
})

test('missing binaries are built once, and each build logs a line', async () => {
  installGo('echo built > "$out"')
  const paths = await provideBinaries(log, environment)
  expect(Object.keys(paths)).toEqual(BINARIES.map(({ name }) => name))
  expect(paths.etcd.startsWith(join(folder, 'cache', 'realmkeeper', 'control-plane'))).toBe(true)
  expect(lines).toHaveLength(BINARIES.length)
  installGo('exit 1')
  expect(await provideBinaries(log, environment)).toEqual(paths)
})

test('an interrupted build leaves no file', async () => {
  installGo('echo half > "$out"; echo no space left >&2; exit 1')
  await expect(provideBinaries(log, environment)).rejects.toThrow(/no space left/)
  expect(presentBinaries(environment)).toEqual({})
  const cached = readdirSync(join(folder, 'cache'), { recursive: true, withFileTypes: true })
  expect(cached.filter((each) => each.isFile())).toEqual([])
})
