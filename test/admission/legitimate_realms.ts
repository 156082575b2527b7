import { confirm, confirmation, governedRealm, OWNER } from './realms.ts'
import { API, realm } from './world.ts'
import type { Stored } from './world.ts'
import { merge, pathOf } from './writes.ts'
import type { Legitimate } from './writes.ts'

/** Deletes, confirmations and owners of Realms that have to pass. */
export const LEGITIMATE_REALMS: Legitimate[] = [
  {
    name: 'an author deletes a realm without governance',
    run: async (world) => world.who('carol').call('DELETE', pathOf(await governedRealm(world, {}))),
  },
  {
    name: 'an approver who may write realms deletes a governed realm',
    run: async (world) => world.who('dora').call('DELETE', pathOf(await governedRealm(world))),
  },
  {
    name: 'an approver deletes all realms with a label',
    async run(world) {
      const { metadata } = await governedRealm(world)
      const path = `${API}/namespaces/${world.home}/realms?labelSelector=${encodeURIComponent(`name=${metadata.name}`)}`
      return world.who('dora').call('DELETE', path)
    },
  },
  {
    name: 'an account without approve deletes a governed realm of a namespace that is being deleted',
    async run(world) {
      const { admin } = world.cluster
      const namespace = `${world.home}-ends`
      await admin.do('POST', '/api/v1/namespaces', { metadata: { name: namespace, labels: world.labels } })
      const made = await world.who('carol').do('POST', `${API}/namespaces/${namespace}/realms`, realm('ends'))
      // Without a controller manager it stays, and is being deleted.
      await admin.do('DELETE', `/api/v1/namespaces/${namespace}`)
      return world.who('carol').call('DELETE', pathOf(made))
    },
  },
  {
    name: 'an author creates a realm whose deletion destroys the keys',
    run: ({ who, home }) => who('carol').call('POST', `${API}/namespaces/${home}/realms`, withPolicy('shortlived')),
  },
  {
    name: 'an author edits a realm whose deletion destroys the keys',
    async run({ who, home }) {
      const made = await who('carol').do('POST', `${API}/namespaces/${home}/realms`, withPolicy('shortlived-2'))
      return merge(who('carol'), made, { spec: { displayName: 'edited' } })
    },
  },
  {
    name: 'an approver lets the deletion of a realm destroy the keys',
    run: async (world) => merge(world.who('dora'), await governedRealm(world), { spec: { deletionPolicy: 'Delete' } }),
  },
  {
    name: 'an author edits a realm that has an owner',
    async run(world) {
      const owned = await governedRealm(world, { enabled: true }, { ownerReferences: [OWNER] })
      return merge(world.who('carol'), owned, { spec: { displayName: 'edited' }, metadata: { labels: { a: 'b' } } })
    },
  },
  {
    name: 'an approver confirms the governance of a realm',
    async run(world) {
      const made = await governedRealm(world)
      return confirm(world.who('dora'), made, confirmation(made))
    },
  },
  {
    name: 'an author edits a realm that was confirmed, and removes the confirmation',
    async run(world) {
      const made = await governedRealm(world)
      await confirm(world.who('dora'), made, confirmation(made))
      const edited = await merge(world.who('carol'), made, { spec: { displayName: 'edited' } })
      return edited.status < 300 ? confirm(world.who('carol'), made, null) : edited
    },
  },
  {
    name: 'a backup restores a realm with the confirmation of the former one',
    async run({ who, home }) {
      const body = realm('restored')
      const annotations = { 'realmkeeper.io/confirm-governance': `of-the-former-realm/3/${home}/restored` }
      const metadata = { ...body.metadata, annotations }
      return who('carol').call('POST', `${API}/namespaces/${home}/realms`, { ...body, metadata })
    },
  },
  {
    name: 'the operator releases a deleted realm',
    async run(world) {
      const made = await governedRealm(world, { enabled: true }, { finalizers: ['realmkeeper.io/cleanup'] })
      const deleted = await world.who('dora').call('DELETE', pathOf(made))
      return deleted.status < 300 ? merge(world.who('operator'), made, { metadata: { finalizers: [] } }) : deleted
    },
  },
]

function withPolicy(name: string): Stored {
  const body = realm(name)
  return { ...body, spec: { ...body.spec, deletionPolicy: 'Delete' } }
}
