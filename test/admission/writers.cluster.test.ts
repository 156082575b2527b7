import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../end_to_end/cluster/cluster_world.ts'
import type { Account, Answer } from '../support/control_plane/account.ts'
import { HARMLESS } from './mallory.ts'
import { HOME, tokenWorld } from './token_world.ts'
import type { Player, TokenWorld } from './token_world.ts'
import { API, assignment, verdict } from './world.ts'
import type { Stored } from './world.ts'
import { applyStatus, entry, merge, pathOf, read } from './writes.ts'

/** Dora may write requests and approve. Carol may write requests. AMY submits for others, as GitOps does. */
describe('accounts that wrote a request do not decide on it, with a running operator and tokens', () => {
  let world: TokenWorld
  let players: Player[]
  beforeAll(async () => {
    world = await tokenWorld(['taken', 'forgotten', 'claimed', 'proven', 'lowered'])
    players = [...world.players]
  })
  afterAll(() => world?.end())

  const who = (name: string): Account => world.cluster.plane.user(name)

  function request(by: string, { user }: Player, writers: object): Promise<Stored> {
    const subject = { kind: 'User', name: user }
    const body = assignment(`for-${user}`, { realmRef: { name: HOME }, subject, roles: [HARMLESS], ...writers })
    return until(() => who(by).do('POST', `${API}/namespaces/${HOME}/roleassignments`, body))
  }

  async function approve(name: string, request: Stored): Promise<Answer> {
    const present = await untilResolved(request)
    return applyStatus(who(name), present, { approvals: [entry(present, name)] })
  }

  /** The object after the operator has resolved its present generation. */
  function untilResolved(request: Stored): Promise<Stored> {
    return until(async () => {
      const present = await read(world.admin, request)
      expect(present.status?.granted?.resolvedAt).toBeDefined()
      expect(present.status.granted.generation).toBe(present.metadata.generation)
      return present
    })
  }

  async function untilReady(request: Stored, reason: string): Promise<Stored> {
    return until(async () => {
      const { metadata, status } = await read(world.admin, request)
      const ready = status.conditions.find(({ type }: Stored) => type === 'Ready')
      expect(ready).toMatchObject({ reason, observedGeneration: metadata.generation })
      return ready
    })
  }

  async function requireClaimsApproval(extraApprovalForClaims: boolean): Promise<void> {
    const realm = await world.admin.do('GET', `${API}/namespaces/${HOME}/realms/${HOME}`)
    const { status } = await merge(world.admin, realm, { spec: { identityGovernance: { extraApprovalForClaims } } })
    expect(status).toBe(200)
  }

  test('row 139: Dora writes roles, Carol edits the reason, and Dora cannot approve', async () => {
    const player = players[0]!
    const made = await request('dora', player, { requestedBy: 'dora' })
    const edit = { requestedBy: 'carol', reason: 'clearer' }
    expect(verdict(await merge(who('carol'), made, { spec: edit }))).toContain(
      'add to spec.formerRequesters the accounts that wrote this request and cannot decide: ["dora"]',
    )
    const taken = await merge(who('carol'), made, { spec: { ...edit, formerRequesters: ['dora'] } })
    expect(verdict(taken)).toBe('passes')

    expect(verdict(await approve('dora', made))).toContain('an account that wrote the request')
    const { message } = await untilReady(made, 'PendingApproval')
    expect(message).toContain('requested by carol (a claim), who cannot decide, and neither can dora')
    expect(await player.roles()).toEqual([])

    expect(verdict(await approve('ann', made))).toBe('passes')
    await until(async () => expect(await player.roles()).toEqual([HARMLESS]))

    // After the grant, an edit need not name them.
    const { metadata, status } = await untilResolved(made)
    expect(status.granted.serving.generation).toBe(metadata.generation)
    const next = { formerRequesters: null, reason: 'granted before' }
    expect(verdict(await merge(who('carol'), made, { spec: next }))).toBe('passes')
  })

  test('row 139: an approval of a former requester that is there already does not count', async () => {
    const player = players[1]!
    const made = await request('carol', player, { requestedBy: 'carol' })
    expect(verdict(await approve('dora', made))).toBe('passes')
    await untilReady(made, 'Granted')
    // Ungranted again: Dora edits, and her own approval of the former generation does not carry over.
    const edited = await merge(who('dora'), made, { spec: { requestedBy: 'dora', expiresAt: '2199-01-01T00:00:00Z' } })
    expect(verdict(edited)).toBe('passes')
    expect(verdict(await approve('dora', made))).toContain('the requester cannot decide')
    const back = { requestedBy: 'carol', formerRequesters: ['dora'], reason: 'again' }
    expect(verdict(await merge(who('carol'), made, { spec: back }))).toBe('passes')
    expect(verdict(await approve('dora', made))).toContain('an account that wrote the request')
  })

  test('a claim for Carol that Dora approves waits for another approver, where the realm asks for one', async () => {
    const player = players[2]!
    await requireClaimsApproval(true)
    const made = await request('AMY', player, { requestedBy: 'carol', submittedBy: 'AMY' })
    expect(verdict(await approve('dora', made))).toBe('passes')
    const { message } = await untilReady(made, 'QuorumNotReached')
    expect(message).toContain('1 of 2 approvals')
    expect(message).toContain('requested by carol (as claimed by AMY), who cannot decide')
    expect(await player.roles()).toEqual([])

    expect(verdict(await approve('ann', made))).toBe('passes')
    await until(async () => expect(await player.roles()).toEqual([HARMLESS]))
    const { items } = await world.admin.do('GET', `/api/v1/namespaces/${HOME}/events`)
    expect(items.map(({ message }: Stored) => message)).toContain(
      `${made.metadata.name}: requested ${HARMLESS} by carol (as claimed by AMY)`,
    )
    const { rows } = await world.cluster.database.pool.query<{ details: string }>(
      `select details from audit where action = 'assignment_requested'`,
    )
    const requested = rows.map(({ details }) => JSON.parse(details)).filter(({ uid }) => uid === made.metadata.uid)
    expect(requested).toMatchObject([{ requestedBy: 'carol', claimed: true, submittedBy: 'AMY', requiredApprovals: 2 }])
  })

  test('a request of Carol herself needs no approval more, and no other account makes a claim look like one', async () => {
    const player = players[3]!
    await requireClaimsApproval(true)
    const claim = { requestedBy: 'carol', submittedBy: 'carol' }
    const forged = await who('AMY').call('POST', `${API}/namespaces/${HOME}/roleassignments`, assignment('x', claim))
    expect(verdict(forged)).toContain('spec.submittedBy must be absent or AMY')

    const made = await request('carol', player, claim)
    expect(verdict(await approve('dora', made))).toBe('passes')
    await until(async () => expect(await player.roles()).toEqual([HARMLESS]))
  })

  test('a claim that waits keeps its extra approval when the realm no longer asks for it', async () => {
    const player = players[4]!
    await requireClaimsApproval(true)
    const made = await request('AMY', player, { requestedBy: 'carol' })
    await untilResolved(made)
    await requireClaimsApproval(false)
    expect(verdict(await approve('dora', made))).toBe('passes')
    const { message } = await untilReady(made, 'QuorumNotReached')
    expect(message).toContain('requested by carol (a claim)')
    expect(await player.roles()).toEqual([])
    await world.admin.do('DELETE', pathOf(made))
  })
})
