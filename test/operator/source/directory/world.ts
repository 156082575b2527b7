import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { parse, stringify } from 'yaml'
import { directorySource } from '../../../../operator/source/directory/directory_source.ts'
import type { DirectorySource } from '../../../../operator/source/directory/directory_source.ts'
import { problemText } from '../../../../operator/source/directory/manifests/problem.ts'
import type { ResourceKey } from '../../../../operator/source/resource.ts'
import type { Manifest, World } from '../conformance.ts'

export interface DirectoryWorld extends World {
  directory: string
  stateDir: string
  source(): DirectorySource
  /** The problems that were reported so far, as text. */
  reported: string[]
  /** The Events that were recorded so far. */
  events: string[]
  write(file: string, text: string): void
  stop(): Promise<void>
  start(): Promise<void>
}

const POLL_MILLISECONDS = 40

/** A directory source on a temporary folder, which is removed at the end of the test. */
export async function directoryWorld({
  started = true,
  pollMilliseconds = POLL_MILLISECONDS,
} = {}): Promise<DirectoryWorld> {
  const root = mkdtempSync(join(tmpdir(), 'realmkeeper-directory-'))
  const directory = join(root, 'manifests')
  const stateDir = join(root, 'state')
  mkdirSync(directory)
  let source: DirectorySource | undefined
  let changed: string[] = []
  let fences = 0
  const reported: string[] = []
  const events: string[] = []

  async function start(): Promise<void> {
    source = directorySource({
      directory,
      stateDir,
      now: () => new Date(),
      pollMilliseconds,
      report: (problem) => void reported.push(problemText(problem).replaceAll(`${directory}/`, '')),
      recordEvent: (key, event) => void events.push(`${key.name} ${event.reason}`),
    })
    source.onResource((key) => changed.push(`${key.kind}/${key.namespace}/${key.name}`))
    source.onSecret((name) => changed.push(`Secret/${name.namespace}/${name.name}`))
    await source.start()
  }

  const world: DirectoryWorld = {
    directory,
    stateDir,
    reported,
    events,
    source() {
      if (!source) throw new Error('not started')
      return source
    },
    write(file, text) {
      mkdirSync(join(directory, file, '..'), { recursive: true })
      writeFileSync(join(directory, file), text)
    },
    async apply(manifest) {
      world.write(fileOf(manifest), stringify(manifest))
    },
    async remove(manifest) {
      rmSync(join(directory, fileOf(manifest)), { force: true })
    },
    async decide(key, decision) {
      const file = join(directory, fileOf(key))
      const manifest: Record<string, unknown> = parse(readFileSync(file, 'utf8'))
      const status = typeof manifest['status'] === 'object' ? manifest['status'] : {}
      writeFileSync(file, stringify({ ...manifest, status: { ...status, ...decision } }))
    },
    async restart() {
      await world.stop()
      await start()
    },
    changedKeys() {
      const keys = changed
      changed = []
      return keys
    },
    async eventually(look) {
      for (let tries = 0; tries < 2500; tries++) {
        const found = look()
        if (found !== undefined && found !== false) return found
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      throw new Error(`not seen in time; reported: ${reported.join(' | ')}`)
    },
    async fence() {
      const name = `fence-${++fences}`
      const fence = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'fences' } }
      world.write('zz-fence.yaml', stringify(fence))
      await world.eventually(() => source?.secrets.version({ namespace: 'fences', name }))
    },
    start,
    async stop() {
      await source?.stop()
    },
  }
  onTestFinished(async () => {
    await source?.stop()
    rmSync(root, { recursive: true, force: true })
  })
  if (started) await start()
  return world
}

function fileOf(object: Manifest | ResourceKey): string {
  const { name, namespace = '' } = 'metadata' in object ? object.metadata : object
  return `${object.kind}-${namespace}-${name}.yaml`.toLowerCase()
}
