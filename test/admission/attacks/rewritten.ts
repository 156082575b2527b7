import { APPLY_PATCH } from '../../support/control_plane/account.ts'
import type { Answer } from '../../support/control_plane/account.ts'
import { done } from '../legitimate.ts'
import { API, assignment } from '../world.ts'
import type { Stored, World } from '../world.ts'
import { applyStatus, condition, entry, jsonStatus, merge, mergeLax, mergeStatus, pathOf } from '../writes.ts'
import { REFUSALS } from './attack.ts'
import type { Attack } from './attack.ts'

/** Dora, who may approve, writes roles; another account becomes the requester; Dora decides on her own roles. */
export const REWRITTEN: Attack[] = [
  {
    name: 'an author edits the reason of another author’s request and forgets who wrote the roles',
    refusal: `${REFUSALS.dropsWriters}["dora"]; or create another RoleAssignment`,
    async run(world) {
      const spec = { requestedBy: 'carol', submittedBy: null, reason: 'clearer' }
      return merge(world.who('carol'), await byDora(world), { spec })
    },
  },
  {
    name: 'the writer of the roles approves by a condition after another author has edited the reason',
    refusal: REFUSALS.writer,
    async run(world) {
      const request = await takenOver(world)
      return mergeStatus(world.who('dora'), request, { conditions: [condition(request, 'dora')] })
    },
  },
  {
    name: 'the writer of the roles approves by an entry after another author has edited the reason',
    refusal: REFUSALS.writer,
    async run(world) {
      const request = await takenOver(world)
      return applyStatus(world.who('dora'), request, { approvals: [entry(request, 'dora')] })
    },
  },
  {
    name: 'the writer of the roles denies after another author has edited the reason',
    refusal: REFUSALS.writer,
    async run(world) {
      const request = await takenOver(world)
      return applyStatus(world.who('dora'), request, { approvals: [entry(request, 'dora', { decision: 'Denied' })] })
    },
  },
  {
    name: 'a former requester approves under a name in another letter case',
    refusal: REFUSALS.writer,
    async run(world) {
      const request = await world.request({ spec: { formerRequesters: ['ann'] } })
      return mergeStatus(world.who('ANN'), request, { conditions: [condition(request, 'ANN')] })
    },
  },
  {
    name: 'a former requester in another letter case approves',
    refusal: REFUSALS.writer,
    async run(world) {
      const request = await world.request({ spec: { formerRequesters: ['x', 'Ann'] } })
      return mergeStatus(world.who('ann'), request, { conditions: [condition(request, 'ann')] })
    },
  },
  {
    name: 'a member of a formerly requesting group approves',
    refusal: REFUSALS.writer,
    async run(world) {
      const request = await world.request({ spec: { formerRequesters: ['Platform'] } })
      return mergeStatus(world.who('greg'), request, { conditions: [condition(request, 'greg')] })
    },
  },
  {
    name: 'GitOps replaces the requester and forgets the former one',
    refusal: REFUSALS.dropsWriters,
    async run(world) {
      const spec = { requestedBy: 'carol', submittedBy: null, roles: ['auditor'] }
      return merge(world.who('gitops'), await byDora(world), { spec })
    },
  },
  {
    name: 'GitOps replaces the requester twice and forgets the first one',
    refusal: REFUSALS.dropsWriters,
    async run(world) {
      const request = await takenOver(world)
      const back = { requestedBy: 'dora', formerRequesters: ['carol'] }
      const again = await done(merge(world.who('gitops'), request, { spec: back }))
      return merge(world.who('gitops'), again, { spec: { requestedBy: 'carol', formerRequesters: ['carol'] } })
    },
  },
  {
    name: 'the requester of a request that was taken over drops the former one',
    refusal: REFUSALS.dropsWriters,
    async run(world) {
      return merge(world.who('carol'), await takenOver(world), { spec: { formerRequesters: null } })
    },
  },
  {
    name: 'an author names the former requester in another letter case',
    refusal: REFUSALS.dropsWriters,
    async run(world) {
      const spec = { requestedBy: 'carol', submittedBy: null, formerRequesters: ['DORA'] }
      return merge(world.who('gitops'), await byDora(world), { spec })
    },
  },
  {
    name: 'an author replaces the request as a whole without the former requester',
    refusal: REFUSALS.dropsWriters,
    async run(world) {
      const request = await takenOver(world)
      const { formerRequesters: _, ...spec } = request.spec
      return world.who('carol').call('PUT', pathOf(request), { ...request, spec })
    },
  },
  {
    name: 'an author applies the request without the former requester whom they applied before',
    refusal: REFUSALS.dropsWriters,
    async run(world) {
      const request = await byDora(world, { submittedBy: undefined })
      await done(applySpec(world, request, { requestedBy: 'carol', formerRequesters: ['dora'] }))
      return applySpec(world, request, { requestedBy: 'carol' })
    },
  },
  {
    name: 'an author drops a former requester through a version without a schema',
    refusal: REFUSALS.dropsWriters,
    async run(world) {
      return mergeLax(world.who('carol'), await takenOver(world), { spec: { formerRequesters: [] } })
    },
  },
  ...Object.entries({ 'a text': 'dora', 'a map': { dora: true }, 'a list of numbers': [1] }).map(([what, value]) => ({
    name: `an author replaces the former requesters by ${what}, through a version without a schema`,
    refusal: "ValidatingAdmissionPolicy 'realmkeeper-roleassignment-requests",
    async run(world: World) {
      return mergeLax(world.who('carol'), await takenOver(world), { spec: { formerRequesters: value } })
    },
  })),
  {
    name: 'an author adds a 17th former requester',
    refusal: 'must have at most 16 items',
    async run(world) {
      const formerRequesters = Array.from({ length: 16 }, (_, n) => `user-${n}`)
      const request = await world.request({ spec: { formerRequesters } })
      const spec = { requestedBy: 'mallory', formerRequesters: [...formerRequesters, 'carol'] }
      return merge(world.who('mallory'), request, { spec })
    },
  },
  {
    name: 'an author drops former requesters with names too long for the message',
    refusal: "ValidatingAdmissionPolicy 'realmkeeper-roleassignment-requests",
    async run(world) {
      const request = await world.request({ spec: { formerRequesters: longNames() } })
      return merge(world.who('carol'), request, { spec: { formerRequesters: null } })
    },
  },
  ...Object.entries({
    'that was denied': { generation: 1, outcome: 'Denied' },
    'whose former generation was granted': { generation: 2, serving: { generation: 1 } },
    'whose grant describes an earlier generation': { generation: 1, serving: { generation: 2 } },
    'whose grant comes from a restored status': { generation: 2, serving: { generation: 2, paused: true } },
    'whose content differs from the granted one': { generation: 2, serving: { generation: 2 }, startsOver: true },
  }).map(([which, granted]) => ({
    name: `an author drops the former requester of a request ${which}`,
    refusal: REFUSALS.dropsWriters,
    async run(world: World) {
      const request = await takenOver(world)
      await done(applyStatus(world.who('operator'), request, { granted: completed(granted) }))
      return merge(world.who('carol'), request, { spec: { formerRequesters: null, reason: 'later' } })
    },
  })),
  {
    name: 'an author forges a grant to drop the former requester',
    refusal: REFUSALS.status,
    async run(world) {
      const granted = completed({ generation: 1, serving: { generation: 1 } })
      return jsonStatus(world.who('mallory'), await byDora(world), [{ op: 'add', path: '/status', value: { granted } }])
    },
  },
  {
    name: 'an author creates a request that excludes approvers as former requesters',
    refusal: REFUSALS.inventsWriters,
    run: ({ who, home }) =>
      who('carol').call(
        'POST',
        `${API}/namespaces/${home}/roleassignments`,
        assignment(`excludes-${++excluding}`, { formerRequesters: ['ann', 'amy'] }),
      ),
  },
  {
    name: 'an author excludes an approver as a former requester by an edit',
    refusal: `${REFUSALS.inventsWriters}["ann"]`,
    async run(world) {
      return merge(world.who('carol'), await takenOver(world), { spec: { formerRequesters: ['dora', 'ann'] } })
    },
  },
]

let excluding = 0

/** A request by Dora herself. */
export async function byDora({ who, home }: World, spec: object = {}): Promise<Stored> {
  const body = assignment('', { requestedBy: 'dora', submittedBy: 'dora', ...spec })
  const metadata = { generateName: 'by-dora-' }
  return who('dora').do('POST', `${API}/namespaces/${home}/roleassignments`, { ...body, metadata })
}

/** Dora’s request after Carol has edited the reason. */
export async function takenOver(world: World): Promise<Stored> {
  const spec = { requestedBy: 'carol', submittedBy: null, formerRequesters: ['dora'], reason: 'clearer' }
  return done(merge(world.who('carol'), await byDora(world), { spec }))
}

function applySpec({ who }: World, of: Stored, spec: object): Promise<Answer> {
  const { apiVersion, kind, metadata } = of
  const path = `${pathOf(of)}?fieldManager=carol&force=true`
  const body = { apiVersion, kind, metadata: { name: metadata.name }, spec: { ...of.spec, ...spec } }
  return who('carol').call('PATCH', path, body, { contentType: APPLY_PATCH })
}

/** The largest list that the schema admits. */
export function longNames(): string[] {
  return Array.from({ length: 16 }, (_, n) => `${n}-`.padEnd(512, 'ẞ'))
}

/** `status.granted` with all members that the schema requires. */
function completed(granted: Stored): Stored {
  const { serving, startsOver, ...rest } = granted
  const grant = { realmUID: 'r', roles: ['manager'], grantedAt: '2026-01-01T00:00:00Z', governed: true, approvers: [] }
  return {
    ...rest,
    ...(startsOver && { startsOver: 'DecisionUnproven' }),
    ...(serving && { serving: { ...grant, ...serving } }),
  }
}
