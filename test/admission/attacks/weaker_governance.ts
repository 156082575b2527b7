import type { Answer } from '../../support/control_plane/account.ts'
import { APPLY_PATCH, JSON_PATCH } from '../../support/control_plane/account.ts'
import { untilRightsAct } from '../../support/control_plane/rights.ts'
import { done } from '../legitimate.ts'
import { confirmation, confirm, governedRealm, OWNER } from '../realms.ts'
import { API, realm } from '../world.ts'
import type { Stored, World } from '../world.ts'
import { merge, pathOf } from '../writes.ts'
import { REFUSALS } from './attack.ts'
import type { Attack } from './attack.ts'

/** Weaker governance of a realm without the verb approve. */
export const WEAKER_GOVERNANCE: Attack[] = [
  weakened('lowers requiredApprovals', ({ who, acme }) =>
    merge(who('carol'), acme, { spec: { identityGovernance: { requiredApprovals: 1 } } }),
  ),
  weakened('disables governance', ({ who, acme }) =>
    merge(who('carol'), acme, { spec: { identityGovernance: { enabled: false } } }),
  ),
  weakened('disables governance and asks for more approvals', ({ who, acme }) =>
    merge(who('carol'), acme, { spec: { identityGovernance: { enabled: false, requiredApprovals: 9 } } }),
  ),
  weakened('trusts claims', ({ who, acme }) =>
    merge(who('carol'), acme, { spec: { identityGovernance: { extraApprovalForClaims: false } } }),
  ),
  weakened('removes the extra approval for claims', ({ who, acme }) =>
    merge(who('carol'), acme, { spec: { identityGovernance: { extraApprovalForClaims: null, requiredApprovals: 9 } } }),
  ),
  weakened('removes governance', ({ who, acme }) => merge(who('carol'), acme, { spec: { identityGovernance: null } })),
  weakened('removes the number of approvals', ({ who, acme }) =>
    who('carol').call('PATCH', pathOf(acme), [{ op: 'remove', path: '/spec/identityGovernance/requiredApprovals' }], {
      contentType: JSON_PATCH,
    }),
  ),
  weakened('replaces the realm by one without governance', ({ who, acme }) => {
    const { identityGovernance: _, ...spec } = acme.spec
    return who('carol').call('PUT', pathOf(acme), { ...acme, spec })
  }),
  weakened('applies a realm without governance', ({ who, acme }) => {
    const { apiVersion, kind, metadata } = acme
    const spec = { identityGovernance: { enabled: false, requiredApprovals: 2 } }
    return who('carol').call(
      'PATCH',
      `${pathOf(acme)}?fieldManager=carol&force=true`,
      { apiVersion, kind, metadata: { name: metadata.name }, spec },
      { contentType: APPLY_PATCH },
    )
  }),
  {
    name: 'the approver of one realm weakens the governance of another realm',
    refusal: REFUSALS.weaker,
    async run(world) {
      const { who, home } = world
      await mayWriteRealms(world, 'rita')
      const globex = await who('rita').do('GET', `${API}/namespaces/${home}/realms/globex`)
      return merge(who('rita'), globex, { spec: { identityGovernance: { enabled: false } } })
    },
  },
  ...Object.entries({
    'governance is enabled': { enabled: true },
    'one approval is not enough': { enabled: false, requiredApprovals: 2 },
    'claims need one approval more': { enabled: false, extraApprovalForClaims: true },
  }).map(([name, governance]) => ({
    way: 'a deletion, and a Realm created again' as const,
    name: `the owner of a realm deletes it while ${name}`,
    refusal: REFUSALS.deletion,
    run: async (world: World) => world.who('carol').call('DELETE', pathOf(await governedRealm(world, governance))),
  })),
  {
    way: 'the deletion of a collection of Realms',
    name: 'the owner of a realm deletes all realms with a label',
    refusal: REFUSALS.deletion,
    async run(world) {
      const { metadata } = await governedRealm(world)
      const labelSelector = encodeURIComponent(`name=${metadata.name}`)
      const path = `${API}/namespaces/${world.home}/realms?labelSelector=${labelSelector}`
      return world.who('carol').call('DELETE', path)
    },
  },
  {
    way: 'a deletion by the garbage collector',
    name: 'the garbage collector deletes a governed realm',
    refusal: REFUSALS.deletion,
    run: async (world) => world.who('collector').call('DELETE', pathOf(await governedRealm(world))),
  },
  {
    way: 'deletionPolicy Delete, which destroys the keys',
    name: 'the owner of a realm lets its deletion destroy the keys',
    refusal: REFUSALS.keys,
    run: async (world) => merge(world.who('carol'), await governedRealm(world), { spec: { deletionPolicy: 'Delete' } }),
  },
  {
    name: 'the owner of a realm without governance lets its deletion destroy the keys',
    refusal: REFUSALS.keys,
    run: async (world) =>
      merge(world.who('carol'), await governedRealm(world, {}), { spec: { deletionPolicy: 'Delete' } }),
  },
  {
    way: 'an owner reference',
    name: 'the owner of a realm makes it the dependent of an object that will be deleted',
    refusal: REFUSALS.owner,
    run: async (world) =>
      merge(world.who('carol'), await governedRealm(world), { metadata: { ownerReferences: [OWNER] } }),
  },
  {
    name: 'the owner of a realm gives it another owner',
    refusal: REFUSALS.owner,
    async run(world) {
      const owned = await governedRealm(world, { enabled: true }, { ownerReferences: [OWNER] })
      const ownerReferences = [{ ...OWNER, uid: 'of-another-object' }]
      return merge(world.who('carol'), owned, { metadata: { ownerReferences } })
    },
  },
  {
    name: 'an author creates a realm that has an owner',
    refusal: REFUSALS.owner,
    async run({ who, home }) {
      const body = realm('owned-from-the-start')
      const metadata = { ...body.metadata, ownerReferences: [OWNER] }
      return who('carol').call('POST', `${API}/namespaces/${home}/realms`, { ...body, metadata })
    },
  },
  {
    way: 'a confirmation by an account without the right',
    name: 'the owner of a realm confirms its governance',
    refusal: REFUSALS.mayNotConfirm,
    async run(world) {
      const mine = await governedRealm(world)
      return confirm(world.who('carol'), mine, confirmation(mine))
    },
  },
  {
    name: 'the approver of one realm confirms what was remembered of another realm',
    refusal: REFUSALS.mayNotConfirm,
    async run(world) {
      await mayWriteRealms(world, 'rita')
      const acme = await world.who('rita').do('GET', `${API}/namespaces/${world.home}/realms/acme`)
      return confirm(world.who('rita'), acme, confirmation(acme, { name: 'globex' }))
    },
  },
  {
    name: 'an approver of another realm confirms the governance of this one',
    refusal: REFUSALS.mayNotConfirm,
    async run(world) {
      await mayWriteRealms(world, 'rita')
      const globex = await world.who('rita').do('GET', `${API}/namespaces/${world.home}/realms/globex`)
      return confirm(world.who('rita'), globex, confirmation(globex, { name: 'acme' }))
    },
  },
  {
    way: 'a confirmation of another Realm or version',
    name: 'an approver confirms another version than the present one',
    refusal: REFUSALS.confirmsWhat,
    async run(world) {
      const seen = await governedRealm(world)
      await done(merge(world.who('carol'), seen, { spec: { displayName: 'edited meanwhile' } }))
      return confirm(world.who('dora'), seen, confirmation(seen))
    },
  },
  {
    name: 'an approver confirms a realm of another uid',
    refusal: REFUSALS.confirmsWhat,
    async run(world) {
      const seen = await governedRealm(world)
      return confirm(world.who('dora'), seen, confirmation(seen, { uid: 'of-the-former-realm' }))
    },
  },
]

/** Gives an account the right to write Realms in `home`. */
async function mayWriteRealms({ home, cluster }: World, name: string): Promise<void> {
  await cluster.admin.call('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${home}/rolebindings`, {
    metadata: { name: `${name}-author` },
    subjects: [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }],
    roleRef: { kind: 'ClusterRole', name: 'test:author', apiGroup: 'rbac.authorization.k8s.io' },
  })
  await untilRightsAct(cluster.admin, home)
}

function weakened(name: string, write: (world: World & { acme: Stored }) => Promise<Answer>): Attack {
  return {
    name: `the owner of a realm ${name}`,
    way: 'an update of identityGovernance',
    refusal: REFUSALS.weaker,
    async run(world) {
      const acme = await world.who('carol').do('GET', `${API}/namespaces/${world.home}/realms/acme`)
      return write({ ...world, acme })
    },
  }
}
