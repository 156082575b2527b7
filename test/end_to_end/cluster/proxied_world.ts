import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { recordSecrets } from '../../support/canary.ts'
import { realmkeeper } from '../../support/command.ts'
import type { ControlPlane } from '../../support/control_plane.ts'
import { accountOf } from '../../support/control_plane/account.ts'
import type { Account } from '../../support/control_plane/account.ts'
import { startFaultProxy } from '../../support/fault_proxy.ts'
import type { FaultProxy, SeenRequest } from '../../support/fault_proxy.ts'
import { clusterWorld, until } from './cluster_world.ts'
import type { ClusterWorld, ClusterWorldOptions } from './cluster_world.ts'
import { KEYRING_NAMESPACE } from './rights.ts'

const PROCESSES = ['operator', 'server'] as const
type Process = (typeof PROCESSES)[number]

/** The operator's watches: four kinds and their CRDs, namespaces, Secrets, and the objects that approvals depend on. */
export const OPERATOR_WATCHES = 20
/** With the server's watch of one keyring. */
export const WATCHES = OPERATOR_WATCHES + 1

/** A world whose operator and server reach the API server through a proxy that injects faults. */
export interface ProxiedWorld extends ClusterWorld {
  proxy: FaultProxy
  /** Creates new tokens. `hand` writes them into the token files of the processes. */
  renewTokens(): Promise<{ hand: () => void }>
  /** Empties the token files of the processes. */
  emptyTokenFiles(): void
  /** True for a request with a token that `renewTokens` replaced. */
  isFormer(request: SeenRequest): boolean
  /** The process that sent the request. */
  askedBy(request: SeenRequest): Process | undefined
  /**
   * Changes alice's name and rotates the keys of refresh tokens. The name reaches the server through the operator, the key
   * also through the server's own watch. `arrived` resolves when tokens contain both.
   */
  change(): Promise<{ arrived: () => Promise<void> }>
  /** Logs in again and again, and expects success. */
  keepLoggingIn(seconds: number): Promise<void>
  /** Resolves when both processes are ready and have all their watches. They must not have been restarted. */
  untilWell(): Promise<void>
}

interface ProxiedWorldOptions extends Pick<ClusterWorldOptions, 'env'> {
  bookmarkMillis?: number
}

/** As `clusterWorld`, with the quickstart applied. Both processes use a token file, as in a pod, and the proxy. */
export async function proxiedWorld({ env, bookmarkMillis }: ProxiedWorldOptions = {}): Promise<ProxiedWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'realmkeeper-proxied-'))
  const tokens: Record<Process, string[]> = { operator: [], server: [] }
  let proxy: FaultProxy | undefined

  const fileOf = (name: Process): string => join(folder, `${name}-token`)
  const hand = (name: Process): void => writeFileSync(fileOf(name), `${tokens[name].at(-1)}\n`, { mode: 0o600 })
  const bearerOf = (token: string): string => `Bearer ${token}`

  async function through(plane: ControlPlane, { name, identity: { ca, token = '' } }: Account): Promise<Account> {
    proxy ??= await startFaultProxy(plane, { as: plane.user('without-token'), bookmarkMillis })
    const process = PROCESSES.find((each) => name.endsWith(`:${each}`)) ?? 'operator'
    tokens[process].push(token)
    hand(process)
    return accountOf(process, { server: proxy.url, ca, tokenFile: fileOf(process) }, folder)
  }

  const world = await clusterWorld({ through, ...(env && { env }) })
  if (!proxy) throw new Error('no process uses the proxy')
  const placed = proxy
  const end = world.end.bind(world)
  const pids = [world.operator.pid, world.server.pid]
  let changes = 0

  async function login(): Promise<{ name: unknown; refreshKey: unknown }> {
    const { status, body } = await world.login('alice', { scope: 'openid profile' })
    expect(status, JSON.stringify(body)).toBe(200)
    return { name: partOf(body.access_token, 1).given_name, refreshKey: partOf(body.refresh_token, 0).kid }
  }

  const proxied = Object.assign(world, {
    proxy: placed,
    async renewTokens() {
      for (const process of PROCESSES) {
        const { identity } = await world.plane.serviceAccount(KEYRING_NAMESPACE, process)
        recordSecrets(identity.token)
        tokens[process].push(identity.token ?? '')
      }
      return { hand: () => PROCESSES.forEach(hand) }
    },
    emptyTokenFiles: () => PROCESSES.forEach((process) => writeFileSync(fileOf(process), '')),
    isFormer: ({ authorization }: SeenRequest) =>
      PROCESSES.some((process) =>
        tokens[process]
          .slice(0, -1)
          .map(bearerOf)
          .includes(authorization ?? ''),
      ),
    askedBy: ({ authorization }: SeenRequest) =>
      PROCESSES.find((process) => tokens[process].map(bearerOf).includes(authorization ?? '')),
    async change() {
      const before = await login()
      const name = `Alice-${++changes}`
      await world.patch('users', 'alice', { spec: { firstName: name } })
      const who = ['--namespace=quickstart', `--kubeconfig=${world.author.kubeconfig}`]
      const { code, stderr } = await realmkeeper(['keys', 'rotate', '--realm=quickstart', '--kind=refresh', ...who])
      expect(code, stderr).toBe(0)
      const arrived = async (): Promise<void> => {
        const after = await login()
        expect(after.name, world.operator.output().slice(-4_000)).toBe(name)
        expect(after.refreshKey).not.toBe(before.refreshKey)
      }
      return { arrived: () => until(arrived) }
    },
    async keepLoggingIn(seconds: number) {
      for (const over = performance.now() + seconds * 1_000; performance.now() < over; await sleep(100)) await login()
    },
    async untilWell() {
      await until(async () => {
        expect(placed.watches()).toBe(WATCHES)
        expect(await world.operator.isReady(), world.operator.output().slice(-2_000)).toBe(true)
        expect(await world.server.isReady(), world.server.output().slice(-2_000)).toBe(true)
      })
      expect([world.operator.running(), world.server.running()]).toEqual([true, true])
      expect([world.operator.pid, world.server.pid]).toEqual(pids)
    },
    async end() {
      await end()
      await placed.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  })
  try {
    await world.applyQuickstart()
    await Promise.all([world.untilReady('users', 'alice'), world.untilReady('clients', 'shop')])
    await proxied.untilWell()
  } catch (error) {
    await proxied.end()
    throw error
  }
  return proxied
}

function partOf(token = '', at: number): Record<string, unknown> {
  const part: Record<string, unknown> = JSON.parse(Buffer.from(token.split('.')[at] ?? '', 'base64url').toString())
  return part
}

/** The most tries within some seconds under backoff: the first at once, and each wait at least half of the doubled one. */
export function mostTries(seconds: number, firstMillis: number, longestMillis: number): number {
  let tries = 1
  let at = 0
  for (let wait = firstMillis; ; wait = Math.min(longestMillis, wait * 2)) {
    at += wait / 2
    if (at > seconds * 1_000) return tries
    tries += 1
  }
}
