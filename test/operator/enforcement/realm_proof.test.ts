import { expect, test } from 'vitest'
import { GOVERNANCE_POLICY, isRealmProven } from '../../../operator/enforcement/realms/realm_proof.ts'
import type { CheckResult } from '../../../operator/enforcement/gap.ts'
import { NoAnswer } from '../../../operator/enforcement/policy_access.ts'
import type { ProbeResult, RealmAccess } from '../../../operator/enforcement/policy_access.ts'
import { CONFIRM_GOVERNANCE } from '../../../operator/realm/governance/remember.ts'
import type { RealmResource } from '../../../operator/view/resource_types.ts'
import { NotYet } from '../../../operator/view/view.ts'

const PASSED: CheckResult = { outcome: 'passed', identities: {}, shipped: {} }
const REFUSED: ProbeResult = { result: 'refused', policy: GOVERNANCE_POLICY }

function realm(metadata: Partial<RealmResource['metadata']> = {}): RealmResource {
  const { annotations = {} } = metadata
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the members that are read
  return { metadata: { uid: 'uid-1', generation: 2, ...metadata, annotations } } as RealmResource
}

interface Answers {
  probe?: ProbeResult
  live?: RealmResource | undefined
  check?: CheckResult
}

function proof(answers: Answers = {}): Promise<boolean> {
  const { probe = REFUSED, check = PASSED } = answers
  const access: RealmAccess = {
    list: async () => [],
    read: async () => ('live' in answers ? answers.live : realm()),
    probe: async () => probe,
  }
  return isRealmProven(realm(), access, Promise.resolve(check))
}

test('a Realm whose governance the operator itself cannot confirm is proven', async () => {
  expect(await proof()).toBe(true)
})

test.each<[string, Answers]>([
  ['the operator could confirm it', { probe: { result: 'failed', why: 'the API server accepted it' } }],
  ['another policy refused that', { probe: { result: 'refused', policy: 'another' } }],
  ['it was deleted during the probe', { probe: { result: 'none' } }],
  ['the policies differ', { check: { outcome: 'failed', reason: 'PoliciesDiffer', message: '', isRevealed: true } }],
])('it is not proven when %s', async (_what, answers) => expect(await proof(answers)).toBe(false))

test.each<[string, Answers]>([
  ['it was deleted', { live: undefined }],
  ['it was replaced', { live: realm({ uid: 'uid-2' }) }],
  ['it was edited', { live: realm({ generation: 3 }) }],
  ['its confirmation was removed or changed', { live: realm({ annotations: { [CONFIRM_GOVERNANCE]: 'other' } }) }],
  ['the API server does not answer', { check: { outcome: 'no_answer', message: 'no connection' } }],
])('a reconcile waits when %s', async (_what, answers) => {
  await expect(proof(answers)).rejects.toThrow(NotYet)
})

test('a reconcile waits when the API server does not answer the probe', async () => {
  const access: RealmAccess = {
    list: async () => [],
    read: async () => realm(),
    probe: () => Promise.reject(new NoAnswer('no connection')),
  }
  await expect(isRealmProven(realm(), access, Promise.resolve(PASSED))).rejects.toThrow(NotYet)
})
