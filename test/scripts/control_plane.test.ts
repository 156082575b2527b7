import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  BINARIES,
  cachedPath,
  findGo,
  kubernetesVersion,
  presentBinaries,
} from '../../scripts/control_plane/binaries.ts'
import { provideBinaries } from '../../scripts/control_plane/build.ts'

let folder: string
let environment: NodeJS.ProcessEnv
let said: string[]
const say = (line: string): void => void said.push(line)

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'realmkeeper-binaries-'))
  environment = { PATH: `${folder}/bin:/usr/bin:/bin`, XDG_CACHE_HOME: join(folder, 'cache') }
  said = []
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A compiler in PATH, as a shell script; `$out` is where it is asked to write. */
function installGo(script: string): void {
  mkdirSync(join(folder, 'bin'), { recursive: true })
  const findOut = 'while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done'
  writeFileSync(join(folder, 'bin/go'), `#!/bin/sh\n${findOut}\n${script}\n`)
  chmodSync(join(folder, 'bin/go'), 0o755)
}

test('the version is the one that go.mod pins', () => {
  expect(kubernetesVersion()).toMatch(/^v1\.\d+\.\d+$/)
})

test('without Go and without a cache there is nothing, and nothing is said', async () => {
  expect(findGo({ PATH: join(folder, 'nowhere') })).toBeUndefined()
  expect(await provideBinaries({ environment: { ...environment, PATH: folder }, say })).toEqual({})
  expect(said).toEqual([])
})

test('a folder that KUBEBUILDER_ASSETS names is taken as it is, and nothing is built', async () => {
  installGo('exit 1')
  writeFileSync(join(folder, 'etcd'), '')
  const present = await provideBinaries({ environment: { ...environment, KUBEBUILDER_ASSETS: folder }, say })
  expect(present).toEqual({ etcd: join(folder, 'etcd') })
})

test('what is missing is built, each with a line, and only once', async () => {
  installGo('echo built > "$out"')
  const paths = await provideBinaries({ environment, say })
  expect(Object.keys(paths)).toEqual(BINARIES.map(({ name }) => name))
  expect(paths.etcd?.startsWith(join(folder, 'cache', 'realmkeeper', 'control-plane'))).toBe(true)
  expect(said).toHaveLength(BINARIES.length)
  installGo('exit 1')
  expect(await provideBinaries({ environment, say })).toEqual(paths)
})

test('a build that was cut off leaves nothing that could be taken for a whole one', async () => {
  installGo('echo half > "$out"; echo no space left >&2; exit 1')
  await expect(provideBinaries({ environment, say })).rejects.toThrow(/no space left/)
  expect(presentBinaries(environment)).toEqual({})
  const [first] = BINARIES
  if (!first) throw new Error('no binaries')
  expect(readdirSync(dirname(cachedPath(first, environment)))).toEqual([])
})
