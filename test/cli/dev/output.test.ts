import { describe, expect, test } from 'vitest'
import { readableLine } from '../../../cli/dev/log_line.ts'
import { readyTable } from '../../../cli/dev/ready_table.ts'
import type { StoredResource } from '../../../operator/source/directory/state/stored_object.ts'

describe('a log line on a terminal', () => {
  const line = (members: object): string =>
    JSON.stringify({ time: '2030-01-02T03:04:05.678Z', level: 'info', ...members })

  test.for([
    [{ msg: 'started' }, '03:04:05 operator  started'],
    [{ msg: 'slow', level: 'warn', millis: 12 }, '03:04:05 operator  warn: slow (millis=12)'],
    [{ msg: 'failed', level: 'error', err: { message: 'no', stack: 'at x' } }, '03:04:05 operator  error: failed: no'],
    [{ msg: 'no', err: { message: 'no' }, requestId: 'r' }, '03:04:05 operator  no'],
    [{ msg: 'x', level: 'debug' }, undefined],
  ] as const)('%j', ([members, shown]) => {
    expect(readableLine(line(members), 'operator', 'info')).toBe(shown)
  })

  test('other lines are shown with control characters escaped', () => {
    expect(readableLine('at \u001b[31mx', 'server', 'info')).toBe('         server    at \\u001b[31mx')
  })
})

describe('the table of ready resources', () => {
  const object = (kind: StoredResource['kind'], name: string, rest: Partial<StoredResource> = {}): StoredResource => ({
    kind,
    name,
    namespace: 'a',
    uid: name,
    generation: 2,
    resourceVersion: 1,
    creationTimestamp: '2030-01-01T00:00:00Z',
    finalizers: [],
    labels: {},
    annotations: {},
    spec: {},
    specDigest: '',
    ...rest,
  })
  const condition = (
    type: string,
    status: 'True' | 'False',
    reason: string,
    message: string,
    observedGeneration = 2,
  ) => ({
    type,
    status,
    reason,
    message,
    observedGeneration,
    lastTransitionTime: '2030-01-01T00:00:00Z',
  })

  test('lists kinds in order, and why a resource waits', () => {
    const held = [
      object('RoleAssignment', 'admin', {
        status: { conditions: [condition('Ready', 'False', 'PendingApproval', 'waits for 1 approval')] },
      }),
      object('Realm', 'shop', {
        spec: { fieldEncryption: {} },
        status: {
          conditions: [
            condition('Ready', 'True', 'Served', 'served'),
            condition('FieldEncryptionReady', 'False', 'NoAdmin', 'no svc-realm-admin yet'),
          ],
        },
      }),
      object('User', 'alice'),
    ]
    expect(readyTable(held)).toEqual([
      'RESOURCE',
      'realm/shop              ready  served',
      '  its field encryption  waits  no svc-realm-admin yet',
      'user/alice              waits  not reconciled yet',
      'roleassignment/admin    waits  waits for 1 approval',
    ])
  })

  test('a condition of an earlier generation does not count', () => {
    const held = object('User', 'alice', { status: { conditions: [condition('Ready', 'True', 'Ready', 'fine', 1)] } })
    expect(readyTable([held]).at(-1)).toBe('user/alice  waits  not reconciled yet')
    expect(readyTable([{ ...held, generation: 1 }]).at(-1)).toBe('user/alice  ready  fine')
  })

  test('of many resources, ready ones are only counted', () => {
    const ready = { status: { conditions: [condition('Ready', 'True', 'Ready', 'fine')] } }
    const held = [
      ...Array.from({ length: 100 }, (_, index) => object('User', `user-${index}`, ready)),
      object('User', 'zoe'),
    ]
    expect(readyTable(held)).toEqual([
      'RESOURCE',
      'user/zoe  waits  not reconciled yet',
      '… and 100 more; 100 in all are ready',
    ])
  })
})
