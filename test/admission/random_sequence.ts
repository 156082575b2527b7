import { expect } from 'vitest'
import type { Account, Answer } from '../support/control_plane/account.ts'
import { until } from '../end_to_end/cluster/cluster_world.ts'
import { GATED, generator, HARMLESS, pick } from './mallory.ts'
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
  /** Whether policies hold Mallory to the rules. Where they do not, nothing has to be as Ann wants it. */
  isHeld: boolean
}

export interface Totals {
  passed: number
  refused: number
  tokens: number
  withHarmless: number
  /** What Ann approved, as `uid/generation`. */
  approved: Set<string>
}

export function noTotals(): Totals {
  return { passed: 0, refused: 0, tokens: 0, withHarmless: 0, approved: new Set() }
}

/**
 * Mallory writes at random to one RoleAssignment for a player; Ann approves what asks for the harmless role alone, by
 * what she saw, which may be outdated by the time that she writes. The operator does its work beside them. Fails when
 * a token has a role that Ann never approved.
 */
export async function play(
  world: TokenWorld,
  player: Player,
  { number, writes, isHeld }: Sequence,
  totals: Totals,
): Promise<void> {
  const { admin, mallory, ann } = world
  const random = generator(number)
  /** The reference: generations of the present object that Ann approved, and that may still give what they gave. */
  let allowed = new Set<string>()
  const story: string[] = []
  const path = `${API}/namespaces/${HOME}/roleassignments`
  const name = `sequence-${number}`

  let object: Stored = await create()
  let outdated: Stored = object
  for (let write = 0; write < WRITES; write++) {
    const chosen = pick(writes, random)
    const answer = await chosen({ mallory, object: random() < 0.2 ? outdated : object, random })
    note(chosen.name, answer)
    await look(answer)
    const chance = random()
    if (chance < 0.2) await approve()
    else if (chance < 0.22) await judge()
    else if (chance < 0.28) judgeGated(await rolesNow())
  }
  await judge()
  await admin.call('DELETE', `${path}/${name}`)
  allowed = new Set()
  await until(async () => expect(await rolesNow()).toEqual([]))

  function note(what: string, { status }: { status: number }): void {
    story.push(`${what} ${status}`)
    if (status < 300) totals.passed++
    else totals.refused++
  }

  /** The former one may be held by its finalizer for a moment. */
  function create(): Promise<Stored> {
    const roles = random() < 0.5 ? [HARMLESS] : [pick(GATED, random)]
    const subject = { kind: 'User', name: player.user }
    const body = assignment(name, { realmRef: { name: HOME }, subject, roles, requestedBy: 'mallory' })
    return until(() => mallory.do('POST', path, body))
  }

  /** What Mallory sees next: what a write answered, or the object as the operator and Ann left it. */
  async function look(answer: Answer): Promise<void> {
    const isTold = answer.status < 300 && answer.body.kind === 'RoleAssignment'
    if (!isTold && answer.status === 403 && random() < 0.7) return
    const { status, body } = isTold ? answer : await mallory.call('GET', `${path}/${name}`)
    const present = status === 200 && !body.metadata.deletionTimestamp ? body : await create()
    if (present.metadata.resourceVersion === object.metadata.resourceVersion) return
    outdated = object
    object = present
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
    // An entry that is there already may be sent again, outdated as it is.
    const isPresent = object.metadata.generation === generation
    if (isHeld && isPresent && random() < 0.5)
      await until(async () => expect(await rolesNow(), told()).toEqual([HARMLESS]))
  }

  /** When the operator has seen all that was written: no gated role, and the harmless one where Ann's word says so. */
  async function judge(): Promise<void> {
    if (!isHeld) return judgeGated(await rolesNow())
    const present = await settled(admin, `${path}/${name}`)
    const { uid, generation } = present?.metadata ?? {}
    // Status says so, whoever meddled with who owns what of it: it stands in for rows that are lost.
    if (present) {
      await until(async () => {
        const { status } = await admin.do('GET', `${path}/${name}`)
        expect(status.granted, told()).toEqual(await world.remembered(uid))
      })
    }
    const isListed = present?.spec.roles.includes(HARMLESS) === true
    // What an edit took away does not come back by an edit.
    allowed = new Set([...allowed].filter((key) => isListed && key.startsWith(`${uid}/`)))
    const roles = await until(async () => {
      const now = await rolesNow()
      // Not tried again until it is gone.
      if (now.some((role) => GATED.includes(role))) return now
      if (allowed.has(`${uid}/${generation}`)) expect(now, told()).toContain(HARMLESS)
      if (allowed.size === 0) expect(now, told()).toEqual([])
      return now
    })
    judgeGated([...roles, ...(await player.introspected())])
  }

  async function rolesNow(): Promise<string[]> {
    const roles = await player.roles()
    totals.tokens++
    if (roles.includes(HARMLESS)) totals.withHarmless++
    return roles
  }

  function judgeGated(roles: string[]): void {
    for (const role of roles) if (GATED.includes(role)) expect.fail(`${role} is in a token. ${told()}`)
  }

  function told(): string {
    return `Sequence ${number}:\n${story.join('\n')}`
  }
}

/**
 * The object as it is when the operator has seen all that was written to it before; undefined when it is gone. The
 * operator puts Ready back when it sees that it is missing, twice because the first one may be what it was about to say
 * anyway.
 */
async function settled(admin: Account, path: string): Promise<Stored> {
  for (let round = 0; round < 2; round++) {
    const isThere = await until(async () => {
      const { status, body } = await admin.call('GET', path)
      if (status === 404) return false
      if (body.metadata.deletionTimestamp) throw new Error('it is not gone yet')
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
