import { describe, expect, test } from 'vitest'
import { notReady, ready } from '../../../operator/controller/reconciler.ts'
import type { ReconcileResult } from '../../../operator/controller/reconciler.ts'
import type { Condition, Resource } from '../../../operator/source/resource.ts'
import { statusPatch, transitionEvents } from '../../../operator/controller/status.ts'

function resource(conditions: Partial<Condition>[] = [], rest: object = {}, generation = 3): Resource {
  return {
    apiVersion: 'realmkeeper.io/v1alpha1',
    kind: 'Client',
    metadata: {
      name: 'web',
      namespace: 'default',
      uid: 'u1',
      generation,
      resourceVersion: '7',
      creationTimestamp: '2030-01-01T00:00:00Z',
    },
    spec: {},
    status: {
      observedGeneration: generation,
      conditions: conditions.map((condition) => ({
        type: 'Ready',
        status: 'True',
        reason: 'Registered',
        message: 'all is well',
        observedGeneration: generation,
        lastTransitionTime: '2030-01-01T00:00:00Z',
        ...condition,
      })),
      ...rest,
    },
  }
}

describe('a status patch', () => {
  const outcome = ready('Registered', 'all is well', { fields: { secretName: 'web-client', gone: undefined } })
  const fields = { secretName: 'web-client' }

  test('is undefined when the status is current', () => {
    expect(statusPatch(resource([{}], fields), outcome)).toBeUndefined()
  })

  // Each row is the status above with one thing different.
  test.each([
    ['without conditions', resource([], fields)],
    ['with another status', resource([{ status: 'False' }], fields)],
    ['with another reason', resource([{ reason: 'Other' }], fields)],
    ['with another message', resource([{ message: 'other' }], fields)],
    ['of another generation', resource([{ observedGeneration: 2 }], fields)],
    ['without its generation', resource([{}], { ...fields, observedGeneration: undefined })],
    ['with another field', resource([{}], { secretName: 'other' })],
    ['without a field', resource([{}], {})],
    ['with a field too many', resource([{}], { ...fields, gone: 'x' })],
  ])('is made for a status %s', (_what, before) => {
    expect(statusPatch(before, outcome)).toMatchObject({
      observedGeneration: 3,
      conditions: [{ type: 'Ready', status: 'True', reason: 'Registered', observedGeneration: 3 }],
      fields: { secretName: 'web-client', gone: undefined },
    })
  })

  test('is made for approvals to remove, and leaves the conditions of others alone', () => {
    const before = resource([{}, { type: 'Approved', reason: 'Fine' }], fields)
    expect(statusPatch(before, outcome)).toBeUndefined()
    expect(statusPatch(before, { ...outcome, removeApprovals: ['old'] })).toMatchObject({ removeApprovals: ['old'] })
  })

  test('ignores the order of members', () => {
    const keys = { signing: [{ kid: 'k', state: 'active' }] }
    const reordered = { signing: [{ state: 'active', kid: 'k', since: undefined }] }
    const before = resource([{}], { keys })
    expect(statusPatch(before, ready('Registered', 'all is well', { fields: { keys: reordered } }))).toBeUndefined()
  })

  test('row 127: what users wrote becomes one bounded line without control characters', () => {
    const nasty = `role "\u001b[31mred\u001b[0m\nroot\r\u202e" ${'x'.repeat(32 * 1024)}`
    const message = statusPatch(resource(), notReady('Nasty', nasty))?.conditions[0]?.message ?? ''
    expect(message.length).toBeLessThan(1_100)
    // oxlint-disable-next-line no-control-regex -- the test looks for control characters
    expect(message).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/)
    expect(message).toContain('red')
    const [event] = transitionEvents(resource(), notReady('Nasty', nasty))
    expect(event?.message).toBe(message)
  })
})

describe('Events', () => {
  const failing = notReady('SecretNotFound', 'there is no Secret')
  const conditions = (...turned: [string, 'True' | 'False', string][]): ReconcileResult => ({
    conditions: turned.map(([type, status, reason]) => ({ type, status, reason, message: reason })),
  })
  const reasons = (before: Resource, outcome: ReconcileResult) =>
    transitionEvents(before, outcome).map(({ reason }) => reason)

  test.each<[string, Resource, ReconcileResult, string[]]>([
    ['success at first sight', resource([]), ready('Registered', 'x'), []],
    ['recovery', resource([{ status: 'False', reason: 'SecretNotFound' }]), ready('Registered', 'x'), []],
    ['failure at first sight', resource([]), failing, ['SecretNotFound']],
    ['a change to False', resource([{}]), failing, ['SecretNotFound']],
    ['the same failure again', resource([{ status: 'False', reason: 'SecretNotFound' }]), failing, []],
    ['another failure', resource([{ status: 'False', reason: 'RealmNotFound' }]), failing, ['SecretNotFound']],
    [
      'one cause of two conditions',
      resource([]),
      conditions(['Ready', 'False', 'KeyringLost'], ['KeysReady', 'False', 'KeyringLost']),
      ['KeyringLost'],
    ],
    [
      'a condition that was never True',
      resource([]),
      conditions(['Ready', 'True', 'Available'], ['LicenseValid', 'False', 'NoLicense']),
      [],
    ],
    [
      'a condition that lapsed',
      resource([{}, { type: 'LicenseValid' }]),
      conditions(['Ready', 'True', 'Available'], ['LicenseValid', 'False', 'LicenseExpired']),
      ['LicenseExpired'],
    ],
    [
      'a transition with an Event of the reconciler',
      resource([{}]),
      { ...notReady('PendingApproval', 'x'), events: [{ type: 'Normal', reason: 'Requested', message: 'x' }] },
      ['Requested'],
    ],
    [
      'success with an Event of the reconciler',
      resource([{}]),
      { ...ready('Registered', 'x'), events: [{ type: 'Normal', reason: 'Granted', message: 'x' }] },
      ['Granted'],
    ],
  ])('for %s', (_what, before, outcome, expected) => {
    expect(reasons(before, outcome)).toEqual(expected)
  })
})
