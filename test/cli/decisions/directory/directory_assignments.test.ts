import { expect, test } from 'vitest'
import { decideInDirectory } from '../../../../cli/decisions/directory/decide_in_directory.ts'
import { isPending } from '../../../../cli/decisions/assignment_row.ts'
import { listAssignments, readAssignment } from '../../../../cli/decisions/directory/directory_assignments.ts'
import { assignment, key, realm } from '../../../operator/source/conformance.ts'
import { directoryWorld } from '../../../operator/source/directory/world.ts'

test('pending lists each RoleAssignment with its change, quorum and position', async () => {
  const world = await directoryWorld()
  const { directory, stateDir } = world
  await world.apply(realm('acme', { identityGovernance: { enabled: true, requiredApprovals: 2 } }))
  const request = assignment('readers', ['reader', 'writer'], { reason: 'on call\nAPPROVED', durationSeconds: 3600 })
  await world.apply(request)
  await world.apply(assignment('finished'))
  const finished = await world.eventually(() => world.source().get(key('RoleAssignment', 'finished')))
  await world.eventually(() => world.source().list('RoleAssignment').length === 2)
  await world.source().writeStatus(key('RoleAssignment', 'finished'), finished.metadata.uid, {
    observedGeneration: 1,
    conditions: [{ type: 'Ready', status: 'True', reason: 'Granted', message: 'granted: reader' }],
  })
  await decideInDirectory({
    directory,
    stateDir,
    name: 'readers',
    approver: 'ann',
    decision: 'Approved',
    now: new Date(),
    comment: 'ok',
  })
  await world.eventually(() => world.source().get(key('RoleAssignment', 'readers'))?.status)

  const now = new Date(Date.now() + 90_000)
  const rows = (await listAssignments({ directory, stateDir, now })).filter(isPending)
  expect(rows).toHaveLength(1)
  expect(rows[0]).toMatchObject({
    name: 'readers',
    requestedBy: 'rita',
    subject: { kind: 'User', name: 'alice' },
    realm: { namespace: 'default', name: 'acme' },
    roles: ['reader', 'writer'],
    reason: 'on call\uFFFDAPPROVED',
    durationSeconds: 3600,
    change: { adds: ['reader', 'writer'], keeps: [], removes: [] },
    decisions: [{ approver: 'ann', decision: 'Approved', comment: 'ok', counts: true }],
    quorum: { approved: 1, required: 2 },
    state: 'waiting',
    file: `${directory}/roleassignment-default-readers.yaml`,
    line: 4,
  })
  expect(rows[0]?.ageSeconds).toBeGreaterThanOrEqual(89)
  expect(await listAssignments({ directory, stateDir, now, namespace: 'other' })).toEqual([])

  const shown = await readAssignment({ directory, stateDir, now, name: 'finished' })
  expect(shown).toMatchObject({ state: 'granted', ready: { reason: 'Granted' } })
  await expect(readAssignment({ directory, stateDir, now, name: 'finish' })).rejects.toThrow('did you mean finished?')
})
