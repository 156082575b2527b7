import type { Account, Answer } from '../support/control_plane/account.ts'
import { pick } from '../support/random.ts'
import type { Stored } from './world.ts'
import {
  applyStatus,
  condition,
  entry,
  jsonStatus,
  merge,
  mergeLax,
  mergeStatus,
  pathOf,
  putStatus,
  ready,
} from './writes.ts'

/** Roles that no approver approves, and one that Ann approves. */
export const GATED = ['manager', 'svc-realm-admin', '_svc_dob.selfdecrypt']
export const HARMLESS = 'auditor'

/** The input of a random write. Mallory has all rights on RoleAssignments and their status except `approve`. */
export interface Turn {
  mallory: Account
  object: Stored
  random: () => number
}

export type Write = (turn: Turn) => Promise<Answer>

/** Real or forged: present, earlier and later names, generations and uids. */
function forgedEntry({ object, random }: Turn): Stored {
  const { generation } = object.metadata
  return entry(object, pick(['mallory', 'ann', 'amy', 'Ann'], random), {
    decision: pick(['Approved', 'Approved', 'Approved', 'Denied'], random),
    observedGeneration: pick([generation, generation, generation + 1, Math.max(1, generation - 1)], random),
    observedUID: pick([object.metadata.uid, object.metadata.uid, 'another'], random),
  })
}

function forgedCondition(turn: Turn): Stored {
  const { approver, observedGeneration, observedUID, decision } = forgedEntry(turn)
  return condition(turn.object, approver, { type: decision, observedGeneration, observedUID })
}

function forgedGrant({ object }: Turn): object {
  const { generation, uid } = object.metadata
  const grant = { realmUID: 'realm-1', subjectUID: 'user-1', sub: 'sub-of-alice', roles: GATED, generation }
  const times = { grantedAt: '2026-01-01T00:00:00Z', governed: true, approvers: ['ann'] }
  return { generation, listedRoles: GATED, serving: { ...grant, ...times }, sub: uid }
}

/** One write of each kind; the object may be outdated. */
export const MALLORYS: Write[] = [
  function editsRoles({ mallory, object, random }) {
    const roles = pick([[HARMLESS], [HARMLESS], [HARMLESS, pick(GATED, random)], [pick(GATED, random)]], random)
    return merge(mallory, object, { spec: { roles } })
  },
  function editsReason({ mallory, object, random }) {
    return merge(mallory, object, { spec: { reason: `because of ${random()}` } })
  },
  function editsRequester({ mallory, object, random }) {
    return merge(mallory, object, { spec: { requestedBy: pick(['mallory', 'carol', 'ann'], random) } })
  },
  function labels({ mallory, object, random }) {
    return merge(mallory, object, { metadata: { labels: { a: `${Math.floor(random() * 9)}` } } })
  },
  async function recreates({ mallory, object }) {
    const answer = await mallory.call('DELETE', pathOf(object))
    return answer.status === 404 ? answer : { status: 200, body: {} }
  },
  function appliesEntry(turn) {
    const manager = pick(['of-ann', 'of-mallory', 'of-system:serviceaccount:default:operator'], turn.random)
    return applyStatus(turn.mallory, turn.object, { approvals: [forgedEntry(turn)] }, manager)
  },
  function mergesEntries(turn) {
    const approvals = [...(turn.object.status?.approvals ?? []), forgedEntry(turn)]
    return mergeStatus(turn.mallory, turn.object, { approvals })
  },
  function mergesCondition(turn) {
    const conditions = [...(turn.object.status?.conditions ?? []), forgedCondition(turn)]
    return mergeStatus(turn.mallory, turn.object, { conditions })
  },
  function addsCondition(turn) {
    const path = turn.object.status?.conditions ? '/status/conditions/-' : '/status'
    const value = turn.object.status?.conditions ? forgedCondition(turn) : { conditions: [forgedCondition(turn)] }
    return jsonStatus(turn.mallory, turn.object, [{ op: 'add', path, value }])
  },
  function carriesOver({ mallory, object }) {
    const { generation, uid } = object.metadata
    return jsonStatus(mallory, object, [
      { op: 'replace', path: '/status/approvals/0/observedGeneration', value: generation },
      { op: 'replace', path: '/status/approvals/0/observedUID', value: uid },
    ])
  },
  function forgesGrant(turn) {
    return mergeStatus(turn.mallory, turn.object, { granted: forgedGrant(turn) })
  },
  function changesGrant({ mallory, object }) {
    const granted = object.status?.granted
    const serving = granted?.serving && { ...granted.serving, roles: GATED }
    return mergeStatus(mallory, object, { granted: { ...granted, roles: GATED, serving } })
  },
  function removesStatus({ mallory, object }) {
    return jsonStatus(mallory, object, [{ op: 'remove', path: '/status' }])
  },
  function restoresStatus(turn) {
    const status = { ...turn.object.status, approvals: [forgedEntry(turn)], granted: forgedGrant(turn) }
    return putStatus(turn.mallory, turn.object, status)
  },
  function dropsEntries({ mallory, object }) {
    return mergeStatus(mallory, object, { approvals: [] })
  },
  function appliesAsTheOperator(turn) {
    const { object } = turn
    const conditions = [forgedCondition(turn), ready(object, { status: 'True', reason: 'Granted' })]
    return applyStatus(turn.mallory, object, { conditions, granted: forgedGrant(turn) }, 'realmkeeper-operator', true)
  },
  function insertsEntry(turn) {
    const { uid } = turn.object.metadata
    return jsonStatus(turn.mallory, turn.object, [
      { op: 'test', path: '/metadata/uid', value: uid },
      { op: 'add', path: '/status/approvals', value: [forgedEntry(turn)] },
    ])
  },
  function movesWords(turn) {
    return jsonStatus(turn.mallory, turn.object, [
      { op: 'copy', from: '/status/conditions/0', path: '/status/conditions/-' },
      { op: 'replace', path: '/status/conditions/0', value: forgedCondition(turn) },
    ])
  },
  function replacesAll(turn) {
    const { mallory, object, random } = turn
    const metadata = { ...object.metadata, generation: Math.floor(random() * 9), finalizers: [] }
    const spec = { ...object.spec, roles: [pick(GATED, random), HARMLESS] }
    const status = { approvals: [forgedEntry(turn)], conditions: [forgedCondition(turn)], granted: forgedGrant(turn) }
    return mallory.call('PUT', pathOf(object), { ...object, metadata, spec, status })
  },
  function removesFinalizers({ mallory, object }) {
    return merge(mallory, object, { metadata: { finalizers: null } })
  },
  function clearsManagers({ mallory, object }) {
    return merge(mallory, object, { metadata: { managedFields: [{}] } })
  },
  function prolongs({ mallory, object, random }) {
    const [expiresAt, durationSeconds] = pick(
      [
        [null, null],
        [null, 86_400],
        ['2199-01-01T00:00:00Z', null],
      ],
      random,
    )
    return merge(mallory, object, { spec: { expiresAt, durationSeconds } })
  },
]

/** Writes through a version without a status subresource and without a schema. */
export const THROUGH_LAX: Write[] = [
  function editsThroughLax({ mallory, object, random }) {
    const spec = { roles: [pick(GATED, random)] }
    return mergeLax(mallory, object, random() < 0.5 ? { spec } : { spec, status: null })
  },
  function forgesThroughLax(turn) {
    const status = turn.random() < 0.5 ? { approvals: [forgedEntry(turn)] } : { granted: forgedGrant(turn) }
    return mergeLax(turn.mallory, turn.object, { status })
  },
]
