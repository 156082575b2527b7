import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { processClock } from '../../../kubernetes/clock.ts'
import type { Clock } from '../../../kubernetes/clock.ts'
import { AUDIT_SECRET } from '../../../operator/audit/audit_secret.ts'
import { auditSigning } from '../../../operator/audit/audit_signing.ts'
import type { AuditSigning } from '../../../operator/audit/audit_signing.ts'
import { storeAccess } from '../../../operator/rows/store_access.ts'
import { directorySource } from '../../../operator/source/directory/directory_source.ts'
import type { ResourceEvent, SecretAccess } from '../../../operator/source/resource_source.ts'
import { createLog } from '../../../process/log.ts'
import { recordAudit } from '../../../store/audit.ts'
import { takeEpoch } from '../../../store/operator/epoch.ts'
import { recordLogLine, recordStateSecrets } from '../../support/canary.ts'
import { testDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'

export const NAMESPACE = 'realmkeeper'

/** The signing of audit chains with its own database and state directory. */
export interface SigningWorld {
  database: TestDatabase
  secrets: SecretAccess
  log: { msg: string; level: string; signature?: number; digest?: string; heads?: string[] }[]
  events: ResourceEvent[]
  /** Results of checks, as the metric gets them. */
  broken: (number | undefined)[]
  /** Appends rows to a chain. */
  append(writer: string, count: number): Promise<void>
  /** A new process, which accepts a break if one is named. */
  start(acceptedBreak?: string, clock?: Clock): Promise<AuditSigning>
  /** As one check of a process that runs. */
  sign(signing?: AuditSigning): Promise<{ hasMore: boolean }>
  /** The file with the public key. */
  publicKey(): Promise<string>
  /** The heads that were logged last, by writer. */
  published(): Record<string, string>
  /** The last name of a break in the log. */
  breakName(): string
  end(): Promise<void>
}

export async function signingWorld(): Promise<SigningWorld> {
  const database = await testDatabase()
  const directory = await mkdtemp(join(tmpdir(), 'realmkeeper-manifests-'))
  const stateDir = await mkdtemp(join(tmpdir(), 'realmkeeper-state-'))
  const now = () => new Date()
  const source = directorySource({ directory, stateDir, now, report: () => {}, recordEvent: () => {} })
  await source.start()
  const log: SigningWorld['log'] = []
  const events: ResourceEvent[] = []
  const broken: SigningWorld['broken'] = []
  let processes = 0

  const world: SigningWorld = {
    database,
    secrets: source.secrets,
    log,
    events,
    broken,
    append: (writer, count) =>
      recordAudit(
        database.pool,
        writer,
        Array.from({ length: count }, (_, index) => ({
          at: now(),
          action: 'session_ended',
          realm: 'acme',
          details: { sid: `${index}` },
        })),
      ),
    async start(acceptedBreak, clock = processClock) {
      processes += 1
      const epoch = await takeEpoch(database.pool, `test-${processes}`)
      return auditSigning({
        store: storeAccess({ pool: database.pool, epoch, now, auditWriter: `operator/test-${processes}` }),
        secrets: source.secrets,
        source: { recordEvent: (_key, event) => void events.push(event) },
        namespace: NAMESPACE,
        acceptedBreak,
        metrics: { auditChecked: (count) => void broken.push(count) },
        clock,
        log: createLog({
          name: 'operator',
          level: 'debug',
          destination: {
            write(line: string) {
              log.push(JSON.parse(line))
              recordLogLine('operator', line)
            },
          },
        }),
        onDeposed(error) {
          throw error
        },
      })
    },
    sign: async (signing) => (signing ?? (await world.start())).signOnce(new AbortController().signal),
    async publicKey() {
      const secret = await source.secrets.read({ namespace: NAMESPACE, name: AUDIT_SECRET })
      const file = join(stateDir, 'public.json')
      await writeFile(file, secret?.data['public.json'] ?? '')
      return file
    },
    published: () =>
      Object.fromEntries(log.flatMap(({ heads = [] }) => heads.map((head) => [head.split('=')[0] ?? '', head]))),
    breakName() {
      const [, name] = log.map(({ msg }) => /--accept-audit-break ([0-9a-f]{16})/.exec(msg)).findLast(Boolean) ?? []
      if (name === undefined) throw new Error('no break was logged')
      return name
    },
    async end() {
      await source.stop()
      recordStateSecrets(stateDir)
      await database.drop()
      await rm(directory, { recursive: true, force: true })
      await rm(stateDir, { recursive: true, force: true })
    },
  }
  return world
}
