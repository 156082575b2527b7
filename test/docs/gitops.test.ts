import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/source_files.ts'
import { argoHealth, documentedStates, fluxHealth, KINDS, objectIn } from './gitops_health.ts'

const states = documentedStates()

test('the table lists every kind, and every reason of a RoleAssignment', () => {
  expect(new Set(states.map(({ kind }) => kind))).toEqual(new Set(KINDS))
  const source = readFileSync(join(ROOT, 'operator/role_assignment/decision.ts'), 'utf8')
  const [, union = ''] = /export type Reason =\n([^]*?)\n\n/.exec(source) ?? []
  const reasons = [...union.matchAll(/'(\w+)'/g)].map(([, reason]) => reason)
  expect(reasons.length).toBeGreaterThan(10)
  const documented = states.filter(({ kind, type }) => kind === 'RoleAssignment' && type === 'Ready')
  expect(documented.map(({ reason }) => reason)).toEqual(expect.arrayContaining(reasons))
})

test.for(states)('row 128: $kind $type=$status $reason is $argo in Argo CD', async (state) => {
  const health = await argoHealth(objectIn(state))
  expect(health.status).toBe(state.argo)
  const expected = state.reason === '' ? /has not reconciled/ : new RegExp(`^(${state.reason}|Available): because$`)
  expect(health.message).toMatch(expected)
})

test.for(states)('row 128: $kind $type=$status $reason is $flux in Flux', (state) => {
  expect(fluxHealth(objectIn(state))).toBe(state.flux)
})

test.for(KINDS)('row 128: an edited %s is in progress', async (kind) => {
  for (const status of ['True', 'False']) {
    const state = { kind, type: 'Ready', status, reason: status === 'True' ? 'Granted' : 'Denied', argo: '', flux: '' }
    const stale = objectIn(state, 2)
    expect((await argoHealth(stale)).status).toBe('Progressing')
    expect(fluxHealth(stale)).toBe('InProgress')
    // The same holds if only the condition is old, because another writer wrote the rest of the status.
    const { status: { conditions } = { conditions: [] } } = stale
    expect(fluxHealth({ ...stale, status: { observedGeneration: 3, conditions } })).toBe('InProgress')
    expect((await argoHealth({ ...stale, status: { observedGeneration: 3, conditions } })).status).toBe('Progressing')
  }
})
