import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { runOperator } from '../../operator/main.ts'
import type { OperatorSurroundings, RunningOperator } from '../../operator/main.ts'
import type { ResourceOf } from '../../operator/view/resource_types.ts'
import type { Kind } from '../../operator/source/resource.ts'
import type { ResourceEvent } from '../../operator/source/resource_source.ts'
import { directorySource } from '../../operator/source/directory/directory_source.ts'
import type { DirectorySource } from '../../operator/source/directory/directory_source.ts'
import { problemText } from '../../operator/source/directory/manifests/problem.ts'
import { OPERATOR_SETTINGS } from '../../process/settings.ts'
import type { OperatorConfig } from '../../process/settings.ts'
import { createLog } from '../../process/log.ts'
import { configFrom } from '../support/config.ts'
import { narrowedTo } from './narrowed_source.ts'
import { recordLogLine, recordSecrets, recordStateSecrets } from '../support/canary.ts'
import { testDatabase } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'

/** A document of a manifest. */
export type Manifest = { kind: string; metadata: Record<string, unknown>; [member: string]: unknown }

/** An operator with its own folder and its own database. */
export interface OperatorUnderTest {
  database: TestDatabase
  directory: string
  stateDir: string
  /** Its log, one object per line. */
  log: Record<string, unknown>[]
  events: (ResourceEvent & { name: string })[]
  problems: string[]
  /** Writes a file of manifests, which the operator notices. */
  write(file: string, ...documents: Manifest[]): Promise<void>
  remove(file: string): Promise<void>
  /** With `watchNamespaces`, it receives the resources of these namespaces only, as in a cluster. */
  start(surroundings?: Partial<OperatorSurroundings>, config?: Partial<OperatorConfig>): Promise<RunningOperator>
  stop(): Promise<void>
  source(): DirectorySource
  find<K extends Kind>(kind: K, name: string, namespace?: string): ResourceOf<K> | undefined
  condition(
    kind: Kind,
    name: string,
    type?: string,
    namespace?: string,
  ): { status: string; reason: string; message: string } | undefined
  /** Resolves when `Ready` of this generation has this status, and reason if one is given. */
  untilReady(kind: Kind, name: string, status?: string, reason?: string, namespace?: string): Promise<void>
  /** How many times the source stored an object of a kind. */
  stateLines(kind: Kind): Promise<number>
  rows<Row extends object = Record<string, unknown>>(statement: string, ...values: unknown[]): Promise<Row[]>
  end(): Promise<void>
}

export async function operatorUnderTest(options: { now?: () => Date } = {}): Promise<OperatorUnderTest> {
  const { now = () => new Date() } = options
  const database = await testDatabase()
  const directory = await mkdtemp(join(tmpdir(), 'realmkeeper-manifests-'))
  const stateDir = await mkdtemp(join(tmpdir(), 'realmkeeper-state-'))
  const log: Record<string, unknown>[] = []
  const events: OperatorUnderTest['events'] = []
  const problems: string[] = []
  let running: RunningOperator | undefined
  let source: DirectorySource | undefined

  const present = (): DirectorySource => {
    if (!source) throw new Error('not started')
    return source
  }
  const test: OperatorUnderTest = {
    database,
    directory,
    stateDir,
    log,
    events,
    problems,
    async write(file, ...documents) {
      for (const { kind, stringData } of documents) {
        if (kind === 'Secret') recordSecrets(...Object.values(stringData ?? {}).map(String))
      }
      const path = join(directory, file)
      await mkdir(dirname(path), { recursive: true })
      // In one step: on a busy machine, a file that is empty until it is written would count as one without objects.
      await writeFile(`${path}.new`, documents.map((document) => stringify(document)).join('---\n'))
      await rename(`${path}.new`, path)
    },
    remove: (file) => rm(join(directory, file)),
    async start(surroundings = {}, config = {}) {
      source = directorySource({
        directory,
        stateDir,
        now,
        pollMilliseconds: 40,
        report: (problem) => problems.push(problemText(problem)),
        recordEvent: (key, event) => events.push({ ...event, name: `${key.kind}/${key.name}` }),
      })
      const { watchNamespaces } = config
      running = await runOperator(
        { ...configOf(database.url, directory, stateDir), ...config },
        {
          now,
          source: watchNamespaces ? narrowedTo(source, watchNamespaces) : source,
          log: createLog({
            name: 'operator',
            level: 'debug',
            destination: {
              write(line: string) {
                log.push(JSON.parse(line) as Record<string, unknown>)
                recordLogLine('operator', line)
              },
            },
          }),
          ...surroundings,
        },
      )
      return running
    },
    async stop() {
      await running?.stop()
      running = undefined
    },
    source: present,
    find: <K extends Kind>(kind: K, name: string, namespace = 'default') =>
      present().get({ kind, namespace, name }) as ResourceOf<K> | undefined,
    condition(kind, name, type = 'Ready', namespace = 'default') {
      return present()
        .get({ kind, namespace, name })
        ?.status?.conditions?.find((condition) => condition.type === type)
    },
    async untilReady(kind, name, status = 'True', reason, namespace = 'default') {
      await eventually(() => {
        const resource = present().get({ kind, namespace, name })
        const ready = resource?.status?.conditions?.find((condition) => condition.type === 'Ready')
        const state = JSON.stringify(ready ?? `no Ready; ${problems.join('; ')}`)
        if (ready?.status !== status || (reason !== undefined && ready.reason !== reason)) {
          throw new Error(`${kind} ${name} is not ${status} ${reason ?? ''}: ${state}`)
        }
        if (ready.observedGeneration !== resource?.metadata.generation)
          throw new Error(`${kind} ${name} has an older generation: ${state}`)
      })
    },
    async stateLines(kind) {
      const lines = (await readFile(join(stateDir, 'objects.jsonl'), 'utf8')).split('\n')
      return lines.filter((line) => line.startsWith(`{"put":{"kind":"${kind}"`)).length
    },
    async rows<Row extends object>(statement: string, ...values: unknown[]) {
      const result = await database.pool.query<Row>(statement, values)
      return result.rows
    },
    async end() {
      await test.stop()
      recordStateSecrets(stateDir)
      await database.drop()
      await rm(directory, { recursive: true, force: true })
      await rm(stateDir, { recursive: true, force: true })
    },
  }
  return test
}

/** A configuration with the defaults of the command line. */
export function configOf(databaseUrl: string, dir: string, stateDir: string): OperatorConfig {
  const manifests = ['--dir', dir, '--state-dir', stateDir]
  const listen = ['--listen-host', '127.0.0.1', '--health-listen-port', '0']
  const args = ['--database-url', databaseUrl, '--base-url', 'http://localhost:8080', ...manifests, ...listen]
  return configFrom(OPERATOR_SETTINGS, args)
}

/** Retries until `attempt` passes; throws its last error when the deadline, which suits a busy machine, is over. */
export async function eventually<Result>(
  attempt: () => Result | Promise<Result>,
  { every = 20 } = {},
): Promise<Result> {
  const end = performance.now() + 120_000
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (performance.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, every))
    }
  }
}
