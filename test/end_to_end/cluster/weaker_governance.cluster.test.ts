import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { confirmationOf, CONFIRM_GOVERNANCE } from '../../../operator/realm/governance/remember.ts'
import { WAYS_TO_LESS_GOVERNANCE } from '../../../operator/realm/governance/ways.ts'
import type { WayToLessGovernance } from '../../../operator/realm/governance/ways.ts'
import { keyringSecretName } from '../../../keyring/keyring.ts'
import { ATTACKS } from '../../admission/attacks.ts'
import { enforcementWorld } from '../../operator/enforcement/world.ts'
import type { EnforcementWorld } from '../../operator/enforcement/world.ts'
import { eventually } from '../../operator/operator_under_test.ts'
import { grant, OPERATOR_RULES } from '../../operator/source/cluster/rights.ts'
import { startControlPlane, untilServed } from '../../support/control_plane.ts'
import type { ControlPlane } from '../../support/control_plane.ts'
import { MERGE_PATCH } from '../../support/control_plane/account.ts'
import type { Account } from '../../support/control_plane/account.ts'
import { installPolicies, READ_POLICIES, removePolicies } from '../../support/policies.ts'

const OURS = '/apis/realmkeeper.io/v1alpha1'
const REALMS_CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/realms.realmkeeper.io'
const GOVERNED = { enabled: true, requiredApprovals: 2 }
const FREE = { enabled: false, requiredApprovals: 1 }

/** Attacks that have no effect, by the way to less governance. Those that admission refuses are in test/admission. */
const covered = new Set<WayToLessGovernance>(ATTACKS.flatMap(({ way }) => way ?? []))

describe('row 137: less governance', () => {
  let plane: ControlPlane
  /** Writes Realms. */
  let frank: Account
  /** Writes Realms, and may approve. */
  let rita: Account
  let ann: Account
  let world: EnforcementWorld
  let home: string
  let away: string
  let worlds = 0

  beforeAll(async () => {
    plane = await startControlPlane({ controllers: true })
    await grant(plane.admin, 'operator', [...OPERATOR_RULES, READ_POLICIES])
    const ours = (resources: string[], verbs: string[]) => ({ apiGroups: ['realmkeeper.io'], resources, verbs })
    const writes = ['get', 'list', 'create', 'update', 'patch', 'delete']
    const approves = ours(['realms', 'roleassignments'], ['approve'])
    const decides = ours(['roleassignments', 'roleassignments/status', 'realms'], ['get', 'patch', 'update'])
    await grant(plane.admin, 'frank', [ours(['realms'], writes)])
    await grant(plane.admin, 'rita', [ours(['realms'], writes), decides, approves])
    await grant(plane.admin, 'ann', [decides, approves])
    frank = plane.user('frank')
    rita = plane.user('rita')
    ann = plane.user('ann')
    await installPolicies(plane.admin)
  })
  afterAll(() => plane?.stop())

  beforeEach(async () => {
    home = `home-${++worlds}`
    away = `away-${worlds}`
    world = await enforcementWorld(plane, home, [away])
    const ended = world
    onTestFinished(() => ended.end())
  })

  /** A test of one way. The last test finds ways without one. */
  function way(name: WayToLessGovernance, what: string, run: () => Promise<void>): void {
    covered.add(name)
    test(`${name}: ${what}`, run)
  }

  const pathOf = (name: string, namespace: string) => `${OURS}/namespaces/${namespace}/realms/${name}`

  async function create(
    as: Account,
    identityGovernance: object,
    { name = home, namespace = home, ...spec }: { name?: string; namespace?: string; [member: string]: unknown } = {},
  ): Promise<void> {
    await as.do('POST', pathOf('', namespace), {
      apiVersion: 'realmkeeper.io/v1alpha1',
      kind: 'Realm',
      metadata: { name },
      spec: { roles: [{ name: 'reader' }], tokens: { signingAlgorithm: 'ES256' }, identityGovernance, ...spec },
    })
  }

  async function patch(as: Account, body: object, name = home, namespace = home): Promise<void> {
    await as.do('PATCH', pathOf(name, namespace), body, { contentType: MERGE_PATCH })
  }

  const govern = (as: Account, identityGovernance: object) => patch(as, { spec: { identityGovernance } })

  async function remove(as: Account, name = home, namespace = home): Promise<void> {
    await as.do('DELETE', pathOf(name, namespace))
    await eventually(async () => expect((await plane.admin.call('GET', pathOf(name, namespace))).status).toBe(404))
  }

  async function untilCondition(type: string, reason: string, name = home, namespace = home): Promise<string> {
    return eventually(async () => {
      const { metadata, status } = await plane.admin.do('GET', pathOf(name, namespace))
      const conditions: { type: string; reason: string; message: string; observedGeneration: number }[] =
        status?.conditions ?? []
      const found = conditions.find((each) => each.type === type)
      if (found?.reason === reason && found.observedGeneration === metadata.generation) return found.message
      throw new Error(`${type} is ${JSON.stringify(found)}, not ${reason}`)
    })
  }

  const untilWeakened = (name?: string, namespace?: string) =>
    untilCondition('GovernanceConfirmed', 'GovernanceWeakened', name, namespace)
  const untilInEffect = () => untilCondition('GovernanceConfirmed', 'InEffect')

  /** The operator knows that admission checks every edit of the Realm. */
  async function untilRemembered(): Promise<void> {
    await eventually(async () => {
      const { rows } = await world.database.pool.query('select enforced_since from realm_governance')
      expect(rows).toEqual([{ enforced_since: expect.any(Date) }])
    })
  }

  /** An operator that enforces, a governed Realm, and a request that waits. */
  async function governed(spec: Record<string, unknown> = {}): Promise<{ stop: () => Promise<void> }> {
    await create(rita, GOVERNED, spec)
    const running = await world.start({ trustExisting: true })
    await world.untilEnforced('True', 'Enforced')
    await world.request('waiting')
    await world.untilSaid('waiting', 'PendingApproval')
    await untilRemembered()
    return running
  }

  /** A new request in the realm waits for two approvals. */
  async function expectGoverned(realmRef: object = { name: home }, group = `default-roles-${home}`, namespace = home) {
    const name = `later-${Date.now()}`
    const path = `${OURS}/namespaces/${namespace}/roleassignments`
    await plane.admin.do('POST', path, {
      apiVersion: 'realmkeeper.io/v1alpha1',
      kind: 'RoleAssignment',
      metadata: { name },
      spec: { realmRef, subject: { kind: 'Group', name: group }, roles: ['reader'], requestedBy: 'carol' },
    })
    await eventually(async () => {
      const { status } = await plane.admin.do('GET', `${path}/${name}`)
      expect(status?.conditions?.[0]).toMatchObject({ reason: 'PendingApproval' })
      expect(status.conditions[0].message).toContain('0 of 2 approvals')
    })
    expect(await world.granted()).toEqual([])
  }

  /** Writes without policies. Resolves when the operator, if one runs, has found the policies in force again. */
  async function inGap(write: () => Promise<void>, isAway = false): Promise<void> {
    const before = await enforcedSince()
    await removePolicies(plane.admin)
    await eventually(write)
    await installPolicies(plane.admin)
    if (!isAway) await untilEnforcedAgain(before)
  }

  async function enforcedSince(): Promise<Date | undefined> {
    const { rows } = await world.database.pool.query<{ since: Date }>(
      'select enforced_since as since from approval_enforcement where gap_since is null',
    )
    return rows[0]?.since
  }

  async function untilEnforcedAgain(before: Date | undefined): Promise<void> {
    await eventually(async () => {
      const since = await enforcedSince()
      expect(since).toEqual(expect.any(Date))
      expect(since).not.toEqual(before)
    })
  }

  async function confirm(as: Account): Promise<void> {
    const { metadata } = await plane.admin.do('GET', pathOf(home, home))
    const confirmation = confirmationOf(metadata, metadata)
    await patch(as, { metadata: { annotations: { [CONFIRM_GOVERNANCE]: confirmation } } })
  }

  test('an approver lowers it by an edit', async () => {
    await governed()
    await govern(rita, FREE)
    await untilInEffect()
    await world.untilSaid('waiting', 'GrantedUngoverned')
    expect(await world.granted()).toEqual(['reader'])
    const { rows } = await world.database.pool.query(`select details from audit where action = 'governance_lowered'`)
    expect(rows).toEqual([{ details: expect.stringContaining('"from":"identityGovernance.enabled: true') }])
  })

  way('a deletion, and a Realm created again', 'less waits until an approver confirms it', async () => {
    await governed()
    await expect(remove(frank)).rejects.toThrow('requires the verb approve')
    await remove(rita)
    await create(frank, FREE)
    expect(await untilWeakened()).toContain(`--overwrite ${CONFIRM_GOVERNANCE}=`)
    await expectGoverned()
    await expect(confirm(frank)).rejects.toThrow('needs the verb approve')
    await confirm(rita)
    await untilInEffect()
    await eventually(async () => expect(await world.granted()).toContain('reader'))
  })

  test('a Realm that is created again with as much as before is governed as before, and may be lowered', async () => {
    await governed()
    await remove(rita)
    await create(frank, GOVERNED)
    await untilInEffect()
    await expectGoverned()
    await untilRemembered()
    await govern(rita, FREE)
    await untilInEffect()
  })

  way('the deletion of the namespace', 'a Realm in a namespace of the same name', async () => {
    await governed()
    await create(rita, GOVERNED, { name: 'moved', namespace: away })
    await untilCondition('GovernanceConfirmed', 'InEffect', 'moved', away)
    await plane.admin.do('DELETE', `/api/v1/namespaces/${away}`)
    await eventually(async () => expect((await plane.admin.call('GET', `/api/v1/namespaces/${away}`)).status).toBe(404))
    await plane.admin.do('POST', '/api/v1/namespaces', { metadata: { name: away } })
    await create(frank, FREE, { name: 'moved', namespace: away })
    await untilWeakened('moved', away)
    await expectGoverned({ name: 'moved' }, 'default-roles-moved', away)
  })

  way('another Realm that takes the realm name', 'its own approvers cannot lower it', async () => {
    await governed({ deletionPolicy: 'Delete' })
    await remove(rita)
    await create(frank, GOVERNED, { name: 'other', realm: home })
    await untilCondition('GovernanceConfirmed', 'InEffect', 'other')
    await patch(rita, { spec: { identityGovernance: FREE } }, 'other')
    expect(await untilWeakened('other')).toContain(`approve on Realm ${home}/${home} runs`)
    await expectGoverned({ name: 'other' })
  })

  way('a Realm of another namespace that takes the realm name', 'its owner confirms it', async () => {
    await governed({ deletionPolicy: 'Delete' })
    await remove(rita)
    await create(frank, FREE, { name: 'other', namespace: away, realm: home })
    const { metadata } = await plane.admin.do('GET', pathOf('other', away))
    const confirmation = confirmationOf(metadata, metadata)
    await patch(rita, { metadata: { annotations: { [CONFIRM_GOVERNANCE]: confirmation } } }, 'other', away)
    await untilWeakened('other', away)
    await expectGoverned({ name: 'other' }, `default-roles-${home}`, away)
  })

  way('a role removed from the realm and added again', 'needs other approvals', async () => {
    await governed()
    await world.approve('waiting', ann)
    await world.approve('waiting', rita)
    await world.untilSaid('waiting', 'Granted')
    await patch(frank, { spec: { roles: [{ name: 'writer' }] } })
    await world.untilSaid('waiting', 'RoleNotFound')
    await patch(frank, { spec: { roles: [{ name: 'reader' }] } })
    await world.untilSaid('waiting', 'PendingApproval')
    expect(await world.granted()).toEqual([])
  })

  way('a field removed from the realm and added again', 'its roles need other approvals', async () => {
    const fieldEncryption = { fields: [{ name: 'dateOfBirth', tag: 'dob' }] }
    await governed({ fieldEncryption })
    await world.request('field', { role: '_svc_dob.selfdecrypt' })
    await world.untilSaid('field', 'PendingApproval')
    await world.approve('field', ann)
    await world.approve('field', rita)
    await world.untilSaid('field', 'Granted')
    await patch(frank, { spec: { fieldEncryption: null } })
    await world.untilSaid('field', 'RoleNotFound')
    await patch(frank, { spec: { fieldEncryption } })
    await world.untilSaid('field', 'PendingApproval')
    expect(await world.granted()).toEqual([])
  })

  way('wider allowedNamespaces', 'the owner of another namespace cannot decide there', async () => {
    await governed()
    const owner = plane.user(`owner-of-${away}`)
    await plane.kubectl(['create', 'rolebinding', 'owner', '-n', away, '--clusterrole=admin', `--user=${owner.name}`])
    await plane.kubectl(['create', 'role', 'all', '-n', away, '--verb=*', '--resource=*.realmkeeper.io'])
    await plane.kubectl(['create', 'rolebinding', 'all', '-n', away, '--role=all', `--user=${owner.name}`])
    await patch(frank, { spec: { allowedNamespaces: { from: 'All' } } })
    const path = `${OURS}/namespaces/${away}/roleassignments`
    const made = await plane.admin.do('POST', path, {
      apiVersion: 'realmkeeper.io/v1alpha1',
      kind: 'RoleAssignment',
      metadata: { name: 'elsewhere' },
      spec: {
        realmRef: { name: home, namespace: home },
        subject: { kind: 'User', name: 'alice' },
        roles: ['reader'],
        requestedBy: 'carol',
      },
    })
    const { uid, generation } = made.metadata
    const approval = { approver: owner.name, decision: 'Approved', observedGeneration: generation, observedUID: uid }
    const status = { status: { approvals: [approval] } }
    const answer = owner.do('PATCH', `${path}/elsewhere/status`, status, { contentType: MERGE_PATCH })
    await expect(answer).rejects.toThrow(/needs the verb approve|cannot patch/)
  })

  way('an edit in a gap of the policies', 'has no effect until an approver confirms it', async () => {
    await governed()
    await inGap(() => govern(frank, FREE))
    await untilWeakened()
    await expectGoverned()
    await confirm(rita)
    await untilInEffect()
  })

  way('an edit in a gap of the policies while the operator is away', 'has no effect', async () => {
    const running = await governed()
    const before = await enforcedSince()
    await running.stop()
    await inGap(() => govern(frank, FREE), true)
    await world.start()
    await untilEnforcedAgain(before)
    await untilWeakened()
    await expectGoverned()
  })

  test('a deletion in a gap of the policies: a Realm with less has no effect', async () => {
    await governed()
    await inGap(() => remove(frank))
    await create(frank, FREE)
    await untilWeakened()
    await expectGoverned()
  })

  way('a confirmation written in a gap of the policies', 'needs another generation', async () => {
    await governed()
    await inGap(async () => {
      await govern(frank, FREE)
      await confirm(frank)
    })
    // The gap's end marks it.
    await eventually(async () => expect(await untilWeakened()).toContain('edit spec first'))
    await expectGoverned()
    await patch(frank, { spec: { displayName: 'edited' } })
    await untilWeakened()
    await confirm(rita)
    await untilInEffect()
  })

  way('deletionPolicy Delete, which destroys the keys', 'set by a Realm that is created again', async () => {
    await governed()
    await remove(rita)
    await create(frank, FREE, { deletionPolicy: 'Delete' })
    await untilWeakened()
    await remove(frank)
    expect(await keyringStatus()).toBe(200)
  })

  test('deletionPolicy Delete and a deletion in a gap of the policies destroy no keys', async () => {
    await governed()
    await inGap(async () => {
      await patch(frank, { spec: { deletionPolicy: 'Delete' } })
      await remove(frank)
    })
    expect(await keyringStatus()).toBe(200)
  })

  test('a deletion in a gap of the policies destroys no keys, although an approver set deletionPolicy Delete', async () => {
    await governed({ deletionPolicy: 'Delete' })
    await inGap(() => remove(frank))
    expect(await keyringStatus()).toBe(200)
  })

  test('an approver destroys the keys', async () => {
    await governed()
    await patch(rita, { spec: { deletionPolicy: 'Delete' } })
    await remove(rita)
    expect(await keyringStatus()).toBe(404)
  })

  async function keyringStatus(): Promise<number> {
    const { status } = await plane.admin.call('GET', `/api/v1/namespaces/${home}/secrets/${keyringSecretName(home)}`)
    return status
  }

  way('a CRD changed, and changed back', 'the Realm keeps what was remembered', async () => {
    await governed()
    const before = await enforcedSince()
    const crd = await plane.admin.do('GET', REALMS_CRD)
    const without = structuredClone(crd)
    delete without.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.identityGovernance
    await plane.admin.do('PUT', REALMS_CRD, without)
    await eventually(async () => {
      await patch(frank, { spec: { displayName: `edited at ${Date.now()}` } })
      const { spec } = await plane.admin.do('GET', pathOf(home, home))
      expect(spec.identityGovernance).toBeUndefined()
    })
    const { metadata } = await plane.admin.do('GET', REALMS_CRD)
    await plane.admin.do('PUT', REALMS_CRD, {
      ...crd,
      metadata: { ...crd.metadata, resourceVersion: metadata.resourceVersion },
    })
    await eventually(async () => {
      await patch(frank, { spec: { displayName: `edited at ${Date.now()}` } })
      const { spec } = await plane.admin.do('GET', pathOf(home, home))
      expect(spec.identityGovernance).toMatchObject({ enabled: false })
    })
    await untilEnforcedAgain(before)
    await untilWeakened()
    await expectGoverned()
  })

  way('a CRD deleted and created again', 'the Realm keeps what was remembered', async () => {
    await governed()
    const before = await enforcedSince()
    // Operators of former tests do not release theirs.
    const { items } = await plane.admin.do('GET', `${OURS}/realms`)
    for (const { metadata } of items) {
      if (metadata.namespace === home) continue
      await patch(plane.admin, { metadata: { finalizers: null } }, metadata.name, metadata.namespace)
    }
    await plane.admin.do('DELETE', REALMS_CRD)
    await eventually(async () => expect((await plane.admin.call('GET', REALMS_CRD)).status).toBe(404))
    await plane.kubectl(['apply', '-f', 'crds/realms.yaml'])
    await untilServed(plane.admin, `${OURS}/realms`)
    await eventually(() => create(frank, FREE))
    await untilEnforcedAgain(before)
    await untilWeakened()
    await expectGoverned()
  })

  test('every way has a test', () => {
    expect(WAYS_TO_LESS_GOVERNANCE.filter((name) => !covered.has(name))).toEqual([])
  })
})
