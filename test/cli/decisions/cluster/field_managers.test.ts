import { expect, test } from 'vitest'
import { approverFieldManager, claimantProgram } from '../../../../cli/decisions/cluster/field_managers.ts'

const wrote = (manager: string, field = 'f:requestedBy') => ({
  manager,
  operation: 'Update',
  fieldsV1: { 'f:spec': { [field]: {} } },
})

test.for([
  ['by kubectl', [wrote('kubectl-client-side-apply')], undefined],
  ['by another version of kubectl', [wrote('kubectl')], undefined],
  ['by a controller', [wrote('argocd-controller')], 'argocd-controller'],
  ['by both', [wrote('kubectl-edit'), wrote('helm')], 'helm'],
  ['by what only begins like kubectl', [wrote('kubectlish')], 'kubectlish'],
  ['by an unrecorded manager', [], 'an unknown client'],
  ['by a manager without a name', [wrote('')], 'a nameless client'],
  ['by kubectl, and other fields by a controller', [wrote('kubectl-create'), wrote('helm', 'f:reason')], undefined],
  [
    'in status, which is no request',
    [{ ...wrote('realmkeeper-operator'), subresource: 'status' }],
    'an unknown client',
  ],
  ['by a name with a line of its own', [wrote('x\nANN')], 'x\uFFFDANN'],
] as const)('a requester written %s', ([, managedFields, submitter]) => {
  expect(claimantProgram(managedFields)).toBe(submitter)
})

test('each approver has a field manager of bounded length', () => {
  expect(approverFieldManager('ann')).toBe('realmkeeper-approver-49915e0d7d4b402e')
  expect(approverFieldManager('Ann')).not.toBe(approverFieldManager('ann'))
  expect(approverFieldManager('x'.repeat(5_000)).length).toBeLessThanOrEqual(128)
})
