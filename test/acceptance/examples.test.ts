import { copyFileSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { KINDS } from '../../operator/source/resource.ts'
import { operatorUnderTest } from '../operator/operator_under_test.ts'
import type { OperatorUnderTest } from '../operator/operator_under_test.ts'
import { ROOT } from '../support/source_files.ts'

// Every rung of the ladder, applied to an operator as it stands there. (The quickstart is applied by the tests of dev.)

const LADDER = globSync('examples/*.yaml', { cwd: ROOT }).map((path) => basename(path))

/** Resources that are not ready after they are applied, and the reason. */
const WAITING: Record<string, string> = {
  'RoleAssignment/erin-order-admin': 'PendingApproval',
  'RoleAssignment/frank-realm-admin': 'PendingApproval',
  'RoleAssignment/frank-tax-id': 'PendingApproval',
}

let operator: OperatorUnderTest
beforeAll(async () => {
  operator = await operatorUnderTest()
  await operator.start()
})
afterAll(() => operator?.end())

test('there are examples', () => {
  expect(LADDER.length).toBeGreaterThanOrEqual(8)
})

test.for(LADDER)('%s is reconciled: each resource is ready, or its status names what it waits for', async (file) => {
  copyFileSync(join(ROOT, 'examples', file), join(operator.directory, file))
  const resources = parseAllDocuments(readFileSync(join(ROOT, 'examples', file), 'utf8'))
    .map((document) => document.toJS())
    .filter(({ kind }) => KINDS.includes(kind))
  expect(resources.length).toBeGreaterThan(0)
  for (const { kind, metadata } of resources) {
    const reason = WAITING[`${kind}/${metadata.name}`]
    await operator.untilReady(kind, metadata.name, reason === undefined ? 'True' : 'False', reason, metadata.namespace)
  }
  expect(operator.problems).toEqual([])
})

test('no example causes an error in the log', () => {
  expect(operator.log.filter(({ level }) => level === 'error')).toEqual([])
})
