import { expect } from 'vitest'
import type { Account, Answer } from '../support/control_plane/account.ts'
import { until } from '../end_to_end/cluster/cluster_world.ts'
import { generator, pick } from '../support/random.ts'
import { GATED, HARMLESS } from './mallory.ts'
import type { Write } from './mallory.ts'
import { HOME } from './token_world.ts'
import type { Player, TokenWorld } from './token_world.ts'
import { API, assignment } from './world.ts'
import type { Stored } from './world.ts'
import { applyStatus, condition, entry, jsonStatus, mergeStatus } from './writes.ts'

const WRITES = 20

export interface Sequence {
  number: number
  writes: readonly Write[]
  /** Whether the policies are in force. Without them, the roles need not match Ann's approvals. */
  isEnforced: boolean
  /** Called before each write. Resolves with true when etcd was restored meanwhile. */
  turn?: () => Promise<boolean>
}

export interface Totals {
  passed: number
  refused: number
  tokens: number
  withHarmless: number
  /** Ann's approvals, as `uid/generation`. */
  approved: Set<string>
}

export function noTotals(): Totals {
  return { passed: 0, refused: 0, tokens: 0, withHarmless: 0, approved: new Set() }
}

/**
 * Mallory makes random writes to one RoleAssignment for a player. Ann approves requests for the harmless role alone; the
 * version that she saw may be outdated when she writes. The operator reconciles meanwhile. Fails when a token has a role
 * that Ann never approved.
 */
export async function play(
  world: TokenWorld,
  player: Player,
  { number, writes, isEnforced, turn }: Sequence,
  totals: Totals,
): Promise<void> {
  const { admin, mallory, ann } = world
  const random = generator(number)
  /** The reference: approved generations of the present object whose grant may still be in effect. */
  let allowed = new Set<string>()
  const story: string[] = []
  const path = `${API}/namespaces/${HOME}/roleassignments`
  const name = `sequence-${number}`

  let object: Stored = await create()
  let outdated: Stored = object
  for (let write = 0; write < WRITES; write++) {
    if (await turn?.()) {
      object = await present(await find())
      outdated = object
    }
    const chosen = pick(writes, random)
    const answer = await chosen({ mallory, object: random() < 0.2 ? outdated : object, random })
    note(chosen.name, answer)
    await updateObject(answer)
    const chance = random()
    if (chance < 0.2) await approve()
    else if (chance < 0.22) await expectReconciled()
    else if (chance < 0.28) expectNoGated(await rolesNow())
  }
  await expectReconciled()
  await admin.call('DELETE', `${path}/${name}`)
  allowed = new Set()
  await until(async () => expect(await rolesNow()).toEqual([]))

  function note(what: string, { status }: { status: number }): void {
    story.push(`${what} ${status}`)
    if (status < 300) totals.passed++
    else totals.refused++
  }

  /** Repeats while the finalizer keeps the former object. */
  function create(): Promise<Stored> {
    const roles = random() < 0.5 ? [HARMLESS] : [pick(GATED, random)]
    const subject = { kind: 'User', name: player.user }
    const body = assignment(name, { realmRef: { name: HOME }, subject, roles, requestedBy: 'mallory' })
    return until(() => mallory.do('POST', path, body))
  }

  /** Updates the object that Mallory sees: from the answer of a write, or by a read. */
  async function updateObject(answer: Answer): Promise<void> {
    const isObject = answer.status < 300 && answer.body.kind === 'RoleAssignment'
    if (!isObject && answer.status === 403 && random() < 0.7) return
    const now = await present(isObject ? answer : await find())
    if (now.metadata.resourceVersion === object.metadata.resourceVersion) return
    outdated = object
    object = now
  }

  function find(): Promise<Answer> {
    return mallory.call('GET', `${path}/${name}`)
  }

  /** The object of an answer. Creates another one when it is gone. */
  async function present({ status, body }: Answer): Promise<Stored> {
    return status < 300 && !body.metadata.deletionTimestamp ? body : create()
  }

  async function approve(): Promise<void> {
    const seen = random() < 0.3 ? outdated : object
    if (!seen.spec.roles.every((role: string) => role === HARMLESS)) return
    const { uid, generation } = seen.metadata
    const answer = await (random() < 0.5
      ? applyStatus(ann, seen, { approvals: [entry(seen, 'ann')] })
      : mergeStatus(ann, seen, { conditions: [condition(seen, 'ann')] }))
    story.push(`ann approves ${generation} ${answer.status}`)
    if (answer.status >= 300) return
    object = answer.body
    allowed.add(`${uid}/${generation}`)
    totals.approved.add(`${uid}/${generation}`)
    // The API server admits an outdated entry that is already present.
    const isPresent = object.metadata.generation === generation
    if (isEnforced && isPresent && random() < 0.5)
      await until(async () => expect(await rolesNow(), storyText()).toEqual([HARMLESS]))
  }

  /** After the operator has reconciled all writes: no gated role, and the harmless role where Ann approved it. */
  async function expectReconciled(): Promise<void> {
    if (!isEnforced) return expectNoGated(await rolesNow())
    const present = await settled(admin, `${path}/${name}`)
    const { uid, generation } = present?.metadata ?? {}
    // status.granted equals the row, because it may replace a lost row, also after attacks on managedFields.
    if (present) {
      await until(async () => {
        const { status } = await admin.do('GET', `${path}/${name}`)
        expect(status.granted, storyText()).toEqual(await world.storedGranted(uid))
      })
    }
    const isListed = present?.spec.roles.includes(HARMLESS) === true
    // A role that an edit revoked does not come back by another edit.
    allowed = new Set([...allowed].filter((key) => isListed && key.startsWith(`${uid}/`)))
    const roles = await until(async () => {
      const now = await rolesNow()
      // A gated role fails at once.
      if (now.some((role) => GATED.includes(role))) return now
      if (allowed.has(`${uid}/${generation}`)) expect(now, storyText()).toContain(HARMLESS)
      if (allowed.size === 0) expect(now, storyText()).toEqual([])
      return now
    })
    expectNoGated([...roles, ...(await player.introspected())])
  }

  async function rolesNow(): Promise<string[]> {
    const roles = await player.roles()
    totals.tokens++
    if (roles.includes(HARMLESS)) totals.withHarmless++
    return roles
  }

  function expectNoGated(roles: string[]): void {
    for (const role of roles) if (GATED.includes(role)) expect.fail(`${role} is in a token. ${storyText()}`)
  }

  function storyText(): string {
    return `Sequence ${number}:\n${story.join('\n')}`
  }
}

/**
 * The object after the operator has reconciled all earlier writes; undefined when it is deleted. Removes Ready and waits
 * until the operator writes it again, twice, because the first Ready may come from a reconcile that was already running.
 */
async function settled(admin: Account, path: string): Promise<Stored> {
  for (let round = 0; round < 2; round++) {
    const isThere = await until(async () => {
      const { status, body } = await admin.call('GET', path)
      if (status === 404) return false
      if (body.metadata.deletionTimestamp) throw new Error('the object still exists')
      const { conditions = [] } = body.status ?? {}
      const ready = conditions.findIndex(({ type }: Stored) => type === 'Ready')
      const { status: removed } = await jsonStatus(admin, body, [
        { op: 'test', path: '/metadata/resourceVersion', value: body.metadata.resourceVersion },
        { op: 'remove', path: `/status/conditions/${ready}` },
      ])
      expect(removed).toBe(200)
      return true
    })
    if (!isThere) return undefined
    await until(async () => {
      const { status, body } = await admin.call('GET', path)
      if (status === 200) expect(body.status.conditions.map(({ type }: Stored) => type)).toContain('Ready')
    })
  }
  const { status, body } = await admin.call('GET', path)
  return status === 200 ? body : undefined
}
