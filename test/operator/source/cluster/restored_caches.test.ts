import { describe, expect, test } from 'vitest'
import type { ApiObject } from '../../../../kubernetes/api_object.ts'
import type { ApiClient } from '../../../../kubernetes/api_client.ts'
import type { Sink } from '../../../../kubernetes/reflector.ts'
import { kindCache } from '../../../../operator/source/cluster/kind_cache.ts'
import { kindIdentity } from '../../../../operator/source/cluster/kind_identity.ts'
import { secretVersions } from '../../../../operator/source/cluster/metadata_cache.ts'

const at = (resourceVersion: string, spec: object = {}, metadata: object = {}): ApiObject => ({
  metadata: {
    namespace: 'shop',
    name: 'alice',
    uid: 'uid-alice',
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...metadata,
    resourceVersion,
  },
  spec,
})
const alice = { namespace: 'shop', name: 'alice' }

/** Requests a list and receives it; `meanwhile` runs between both. */
async function list(sink: Sink, resourceVersion: string, objects: ApiObject[], options: ListOptions = {}) {
  sink.listBegins?.()
  options.meanwhile?.()
  const takeOver = await sink.replace(objects, { resourceVersion, isRestored: options.isRestored ?? false })
  if (takeOver) takeOver()
}
interface ListOptions {
  isRestored?: boolean
  meanwhile?: () => void
}

function users() {
  const changed: string[] = []
  const cache = kindCache({ kind: 'User', changed: ({ name }) => changed.push(name), confirmKind: async () => {} })
  const sink = cache.sink(undefined)
  return { cache, sink, changed, spec: () => cache.get(alice)?.resource.spec }
}

describe('a list of the objects of a kind', () => {
  test('of a restored etcd replaces newer objects', async () => {
    const { sink, spec } = users()
    await list(sink, '900', [at('900', { enabled: true })])
    await list(sink, '500', [at('400', { enabled: false })], { isRestored: true })
    expect(spec()).toEqual({ enabled: false })
  })

  test('replaces newer objects also when etcd raised its revision at the restore (etcdutl --bump-revision)', async () => {
    const { sink, spec } = users()
    await list(sink, '900', [at('900', { enabled: true })])
    await list(sink, '1000000400', [at('400', { enabled: false })])
    expect(spec()).toEqual({ enabled: false })
  })

  test('replaces an object of the same resource version with another content', async () => {
    const { sink, spec } = users()
    await list(sink, '900', [at('900', { enabled: true })])
    await list(sink, '950', [at('900', { enabled: false })])
    expect(spec()).toEqual({ enabled: false })
  })

  test('does not notify about objects that did not change', async () => {
    const { sink, changed } = users()
    await list(sink, '900', [at('900')])
    await list(sink, '950', [at('900')])
    expect(changed).toEqual(['alice'])
  })

  test('does not undo the answer to a write that arrived after the list was requested', async () => {
    const { cache, sink, spec } = users()
    await list(sink, '900', [at('900', { enabled: true })])
    const meanwhile = () => void cache.merge(at('950', { enabled: false }))
    await list(sink, '940', [at('900', { enabled: true })], { meanwhile })
    expect(spec()).toEqual({ enabled: false })
  })

  test('of a restored etcd undoes the answer to a write of the former history', async () => {
    const { cache, sink, spec } = users()
    await list(sink, '900', [at('900', { enabled: true })])
    cache.merge(at('950', { enabled: false }))
    await list(sink, '800', [at('700', { enabled: true })], { isRestored: true })
    expect(spec()).toEqual({ enabled: true })
  })

  test('of a restored etcd undoes an answer of the former history that arrived after its request', async () => {
    const { cache, sink, spec } = users()
    await list(sink, '900', [at('900', { enabled: false })])
    const meanwhile = () => void cache.merge(at('950', { enabled: true }))
    await list(sink, '800', [at('700', { enabled: false })], { isRestored: true, meanwhile })
    expect(spec()).toEqual({ enabled: false })
  })

  test('replaces an answer that arrived after its request, and that it is newer than', async () => {
    const { cache, sink, spec } = users()
    await list(sink, '900', [at('900', { round: 1 })])
    await list(sink, '940', [at('935', { round: 3 })], { meanwhile: () => void cache.merge(at('930', { round: 2 })) })
    expect(spec()).toEqual({ round: 3 })
  })

  test('undoes an answer that is older than the request, also with a higher resource version', async () => {
    const { cache, sink, spec } = users()
    await list(sink, '900', [at('900', { enabled: true })])
    cache.merge(at('1200', { enabled: false }))
    await list(sink, '1000', [at('700', { enabled: true })])
    expect(spec()).toEqual({ enabled: true })
  })

  test('of one namespace drops objects of that namespace only', async () => {
    const { cache, sink } = users()
    await list(sink, '900', [at('900'), at('900', {}, { namespace: 'idp', uid: 'uid-idp' })])
    await list(cache.sink('shop'), '500', [], { isRestored: true })
    expect(cache.list().map(({ metadata }) => metadata.namespace)).toEqual(['idp'])
  })
})

test('an event that is older than the answer to a write does not undo it', async () => {
  const { cache, sink, spec } = users()
  await list(sink, '900', [at('900', { round: 1 })])
  cache.merge(at('950', { round: 3 }))
  const takeOver = await sink.apply([{ type: 'MODIFIED', object: at('940', { round: 2 }) }])
  if (takeOver) takeOver()
  expect(spec()).toEqual({ round: 3 })
})

test('a list of the Secrets of a restored etcd replaces their versions', async () => {
  const changed: string[] = []
  const versions = secretVersions(({ name }) => changed.push(name))
  const sink = versions.sink(() => true)
  await list(sink, '900', [at('900')])
  versions.merge(at('950'))
  await list(sink, '940', [at('900')])
  expect(versions.get(alice)?.resourceVersion).toBe('900')
  await list(sink, '960', [at('900')], { meanwhile: () => versions.merge(at('970')) })
  expect(versions.get(alice)?.resourceVersion).toBe('970')
  await list(sink, '500', [at('400')], { isRestored: true })
  expect(versions.get(alice)?.resourceVersion).toBe('400')
  expect(changed).toHaveLength(5)
  await list(sink, '300', [], { isRestored: true })
  expect(versions.get(alice)).toBeUndefined()
  expect(changed).toHaveLength(6)
})

describe('the identity of a kind', () => {
  const crd = (resourceVersion: string, uid: string): ApiObject => at(resourceVersion, {}, { uid })

  /** An API server whose answer to each read of the CRD is `answers.shift()`, when it is called. */
  function identity() {
    const answers: ((object: ApiObject) => void)[] = []
    const client = { find: () => new Promise<ApiObject>((resolve) => void answers.push(resolve)) }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the only member that it uses
    const kind = kindIdentity({ kind: 'User', client: client as unknown as ApiClient, changed: () => {} })
    return { kind, answer: (object: ApiObject) => answers.shift()?.(object) }
  }

  test('follows a restored etcd to the former CustomResourceDefinition, by a list', async () => {
    const { kind } = identity()
    await list(kind.sink, '900', [crd('900', 'second')])
    await list(kind.sink, '500', [crd('100', 'first')])
    expect(kind.current()).toBe('first')
  })

  test('follows a restored etcd to the former CustomResourceDefinition, by a read', async () => {
    const { kind, answer } = identity()
    await list(kind.sink, '900', [crd('900', 'second')])
    const refreshed = kind.refresh()
    await Promise.resolve()
    await Promise.resolve()
    answer(crd('100', 'first'))
    await refreshed
    expect(kind.current()).toBe('first')
  })

  test('follows a list of a restored etcd, also after an answer of the former history that arrived meanwhile', async () => {
    const { kind, answer } = identity()
    await list(kind.sink, '900', [crd('900', 'second')])
    kind.sink.listBegins?.()
    const refreshed = kind.refresh()
    await Promise.resolve()
    await Promise.resolve()
    answer(crd('950', 'second'))
    await refreshed
    const takeOver = await kind.sink.replace([crd('100', 'first')], { resourceVersion: '500', isRestored: true })
    if (takeOver) takeOver()
    expect(kind.current()).toBe('first')
  })

  test('ignores an event that is older than an answer that arrived before', async () => {
    const { kind, answer } = identity()
    await list(kind.sink, '900', [crd('900', 'first')])
    const refreshed = kind.refresh()
    await Promise.resolve()
    await Promise.resolve()
    answer(crd('950', 'second'))
    await refreshed
    const takeOver = await kind.sink.apply([{ type: 'DELETED', object: crd('920', 'first') }])
    if (takeOver) takeOver()
    expect(kind.current()).toBe('second')
  })

  test('ignores an answer that is older than an event that arrived after its request', async () => {
    const { kind, answer } = identity()
    await list(kind.sink, '900', [crd('900', 'first')])
    const refreshed = kind.refresh()
    await Promise.resolve()
    await Promise.resolve()
    const takeOver = await kind.sink.apply([{ type: 'ADDED', object: crd('950', 'second') }])
    if (takeOver) takeOver()
    answer(crd('900', 'first'))
    await refreshed
    expect(kind.current()).toBe('second')
  })
})
