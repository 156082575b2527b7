import type { Answer } from '../../support/control_plane/account.ts'
import { APPLY_PATCH, JSON_PATCH } from '../../support/control_plane/account.ts'
import { untilRightsAct } from '../../support/control_plane/rights.ts'
import { user } from '../legitimate.ts'
import { API } from '../world.ts'
import type { Stored, World } from '../world.ts'
import { merge, mergeStatus, pathOf } from '../writes.ts'
import { REFUSALS } from './attack.ts'
import type { Attack } from './attack.ts'

/** Attacks that avoid decisions: weaker governance of a realm, and the sub of another user. */
export const OTHER_KINDS: Attack[] = [
  weakened('lowers requiredApprovals', ({ who, acme }) =>
    merge(who('carol'), acme, { spec: { identityGovernance: { requiredApprovals: 1 } } }),
  ),
  weakened('disables governance', ({ who, acme }) =>
    merge(who('carol'), acme, { spec: { identityGovernance: { enabled: false } } }),
  ),
  weakened('disables governance and asks for more approvals', ({ who, acme }) =>
    merge(who('carol'), acme, { spec: { identityGovernance: { enabled: false, requiredApprovals: 9 } } }),
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
    async run({ who, home, cluster }) {
      await cluster.admin.call('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${home}/rolebindings`, {
        metadata: { name: 'rita-author' },
        subjects: [{ kind: 'User', name: 'rita', apiGroup: 'rbac.authorization.k8s.io' }],
        roleRef: { kind: 'ClusterRole', name: 'test:author', apiGroup: 'rbac.authorization.k8s.io' },
      })
      await untilRightsAct(cluster.admin, home)
      const globex = await who('rita').do('GET', `${API}/namespaces/${home}/realms/globex`)
      return merge(who('rita'), globex, { spec: { identityGovernance: { enabled: false } } })
    },
  },
  {
    name: 'an author creates a user with the sub of another user',
    refusal: REFUSALS.subject,
    run: ({ who, home }) =>
      who('carol').call('POST', `${API}/namespaces/${home}/users`, user('impostor', { subject: 'of-alice' })),
  },
  {
    name: 'an author gives a user the sub of another user after writing in status that it is in use',
    refusal: REFUSALS.subject,
    async run({ who, home }) {
      const body = user(`plain-${++users}`)
      const made = await who('una').do('POST', `${API}/namespaces/${home}/users`, body)
      const status = await mergeStatus(who('una'), made, { subject: 'of-alice' })
      return status.status < 300 ? merge(who('una'), made, { spec: { subject: 'of-alice' } }) : status
    },
  },
  {
    name: 'an author gives a user the sub of another user',
    refusal: 'subject is immutable',
    async run({ who, home }) {
      const name = `plain-${++users}`
      const made = await who('carol').do('POST', `${API}/namespaces/${home}/users`, user(name))
      return merge(who('carol'), made, { spec: { subject: 'of-alice' } })
    },
  },
]

let users = 0

function weakened(name: string, write: (world: World & { acme: Stored }) => Promise<Answer>): Attack {
  return {
    name: `the owner of a realm ${name}`,
    refusal: REFUSALS.weaker,
    async run(world) {
      const acme = await world.who('carol').do('GET', `${API}/namespaces/${world.home}/realms/acme`)
      return write({ ...world, acme })
    },
  }
}
