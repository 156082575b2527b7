import { expect, test } from 'vitest'
import { FINALIZER } from '../../../crds/group.ts'
import { createController } from '../../../operator/controller/controller.ts'
import type { ControllerDeps } from '../../../operator/controller/controller.ts'
import { PAUSED } from '../../../operator/controller/paused.ts'
import { NotYet } from '../../../operator/view/view.ts'
import type { Resource } from '../../../operator/source/resource.ts'
import { createLog } from '../../../process/log.ts'
import { fakeClock } from '../../support/fake_clock.ts'

test('a resource that waited and was created again has its own time before a status is written', async () => {
  const clock = fakeClock()
  let resource: Resource | undefined
  let written = 0
  const source = { get: () => resource, completeList: () => undefined, writeStatus: async () => void (written += 1) }
  const view = {
    realmFor() {
      throw new NotYet('its Realm is not registered yet')
    },
  }
  const reconciler = { reconcile: () => Promise.reject(new Error('not reached')), finalize: async () => {} }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the members that a waiting resource uses
  const controller = createController('User', reconciler, 1, {
    source,
    view,
    ...surroundings(clock),
  } as unknown as ControllerDeps)
  const metadata = { name: 'alice', namespace: 'shop', generation: 1, resourceVersion: '1', creationTimestamp: '' }
  const alice = (uid: string): Resource => ({
    apiVersion: '',
    kind: 'User',
    metadata: { ...metadata, uid },
    spec: { realmRef: { name: 'shop' } },
  })

  resource = alice('one')
  controller.enqueue('shop/alice')
  await clock.pass(29_000)
  resource = undefined
  controller.enqueue('shop/alice')
  await clock.pass(10_000)
  resource = alice('two')
  controller.enqueue('shop/alice')
  await clock.pass(20_000)
  expect(written).toBe(0)
  await clock.pass(60_000)
  expect(written).toBeGreaterThan(0)
  await controller.stop()
})

test('a paused resource that is being deleted is finalized when only another finalizer keeps it', async () => {
  const clock = fakeClock()
  const finalized: string[] = []
  const alice = (uid: string, finalizers: string[]): Resource => ({
    apiVersion: '',
    kind: 'User',
    metadata: {
      name: 'alice',
      namespace: 'shop',
      uid,
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: '',
      deletionTimestamp: '2026-01-01T00:00:00Z',
      annotations: { [PAUSED]: 'true' },
      finalizers,
    },
    spec: { realmRef: { name: 'shop' } },
  })
  let resource = alice('held', [FINALIZER, 'example.com/other'])
  const source = { get: () => resource, writeStatus: async () => {}, setFinalizer: async () => {}, recordEvent() {} }
  const reconciler = {
    reconcile: () => Promise.reject(new Error('not reached')),
    finalize: async ({ metadata }: Resource) => void finalized.push(metadata.uid),
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the members that a deletion uses
  const controller = createController('User', reconciler, 1, {
    source,
    view: {},
    ...surroundings(clock),
  } as unknown as ControllerDeps)
  controller.enqueue('shop/alice')
  await clock.pass(1_000)
  expect(finalized).toEqual([])
  resource = alice('not held', ['example.com/other'])
  controller.enqueue('shop/alice')
  await clock.pass(1_000)
  expect(finalized).toEqual(['not held'])
  await controller.stop()
})

/** What every controller needs besides its source, view and reconciler. */
function surroundings(clock: ReturnType<typeof fakeClock>) {
  return {
    log: createLog({ name: 'test', level: 'error' }),
    clock,
    random: () => 0,
    now: () => new Date(),
    enqueueUsersOf: () => {},
    onDeposed: () => {},
    metrics: { reconciled: () => {} },
  }
}
