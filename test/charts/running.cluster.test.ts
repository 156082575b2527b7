import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startPart } from '../end_to_end/cluster/part.ts'
import type { Part } from '../end_to_end/cluster/part.ts'
import { recordKeyring, recordSecrets } from '../support/canary.ts'
import { realmkeeper } from '../support/command.ts'
import { startControlPlane, untilServed } from '../support/control_plane.ts'
import type { ControlPlane } from '../support/control_plane.ts'
import type { Account } from '../support/control_plane/account.ts'
import { untilRightsAct } from '../support/control_plane/rights.ts'
import { freePort } from '../support/control_plane/child.ts'
import { testDatabase } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { API } from '../admission/world.ts'
import { CHART, find, helm, render, VALUES } from './helm.ts'
import type { Manifest } from './helm.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const CLIENT = { client_id: 'shop', client_secret: 'shop-secret-for-development' }
const SCOPE = 'openid _svc_dob.selfencrypt _svc_dob.selfdecrypt'

/** The processes have the rights and variables of the chart, and the users its roles. */
describe('a running release', () => {
  const folder = mkdtempSync(join(tmpdir(), 'realmkeeper-chart-'))
  const parts: Part[] = []
  let plane: ControlPlane
  let database: TestDatabase
  let gitops: Account
  let approver: Account
  let url: string

  beforeAll(async () => {
    ;[plane, database] = await Promise.all([
      startControlPlane({ crds: false, controllers: true }),
      testDatabase({ migrated: false }),
    ])
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    const from = [{ namespaceSelector: {}, podSelector: { matchLabels: { app: 'ingress' } } }]
    const networkPolicy = { enabled: true, publicFrom: from, healthFrom: from }
    const values = { ...VALUES, baseUrl: url, networkPolicy }
    await plane.admin.do('POST', '/api/v1/namespaces', { metadata: { name: 'realmkeeper' } })
    const args = ['install', 'realmkeeper', CHART, '--namespace', 'realmkeeper']
    const { code, stderr } = await helm(args, { values, kubeconfig: plane.admin.kubeconfig })
    if (code !== 0) throw new Error(stderr)
    for (const kind of ['realms', 'clients', 'users', 'roleassignments'])
      await untilServed(plane.admin, `${API}/${kind}`)

    gitops = await userWithRoles('gitops', 'realmkeeper-gitops', 'edit')
    approver = await userWithRoles('carol', 'realmkeeper-approver')
    const manifests = await render({ baseUrl: url })
    parts.push(
      await start('operator', manifests, [`--license-keys=${await issueLicense()}`, '--trust-existing-decisions']),
      await start('server', manifests, [`--listen-port=${port}`]),
    )
  })

  afterAll(async () => {
    await Promise.all(parts.filter((part) => part.running()).map((part) => part.stop()))
    const keyrings = await plane?.admin.call('GET', '/api/v1/namespaces/realmkeeper/secrets').catch(() => undefined)
    for (const { data } of keyrings?.body.items ?? [])
      if (data?.['keyring.json']) recordKeyring(JSON.parse(Buffer.from(data['keyring.json'], 'base64').toString()))
    await plane?.stop()
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  async function userWithRoles(name: string, ...clusterRoles: string[]): Promise<Account> {
    for (const role of clusterRoles)
      await plane.admin.do('POST', `${RBAC}/clusterrolebindings`, {
        metadata: { name: `${name}-${role}` },
        subjects: [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }],
        roleRef: { kind: 'ClusterRole', name: role, apiGroup: 'rbac.authorization.k8s.io' },
      })
    await untilRightsAct(plane.admin)
    return plane.user(name)
  }

  async function start(name: 'operator' | 'server', manifests: Manifest[], args: string[]): Promise<Part> {
    const account = await plane.serviceAccount('realmkeeper', `realmkeeper-${name}`)
    recordSecrets(account.identity.token)
    const variables: Manifest[] = find(manifests, 'Deployment', `realmkeeper-${name}`).spec.template.spec.containers[0]
      .env
    const given = variables.filter(({ value }) => value !== undefined).map((each) => [each.name, each.value] as const)
    const healthPort = await freePort()
    const part = startPart(name, {
      healthPort,
      env: { ...Object.fromEntries(given), REALMKEEPER_DATABASE_URL: database.url, REALMKEEPER_LOG_LEVEL: 'debug' },
      args: [
        '--listen-host=127.0.0.1',
        `--health-listen-port=${healthPort}`,
        `--kubeconfig=${account.kubeconfig}`,
        ...args,
      ],
    })
    await until(async () => expect(await part.isReady(), part.output().slice(-3_000)).toBe(true))
    return part
  }

  /** Creates the license Secret of the quickstart. Returns the path of the public key. */
  async function issueLicense(): Promise<string> {
    const { stdout: keys } = await realmkeeper(['license', 'new-key', join(folder, 'key.json')])
    writeFileSync(join(folder, 'keys.json'), keys)
    const issued = await realmkeeper(['license', 'issue', '--realm=quickstart', `--key=${join(folder, 'key.json')}`])
    const license = issued.stdout.trim()
    recordSecrets(license, CLIENT.client_secret, 'alice-password-1', 'bob-password-1')
    await plane.admin.do('POST', '/api/v1/namespaces', { metadata: { name: 'quickstart' } })
    await plane.admin.do('POST', '/api/v1/namespaces/quickstart/secrets', {
      metadata: { name: 'quickstart-license' },
      stringData: { license },
    })
    return join(folder, 'keys.json')
  }

  function until<Result>(attempt: () => Promise<Result>): Promise<Result> {
    return vi.waitFor(attempt, { timeout: 120_000, interval: 50 })
  }

  async function isReady(kind: string, name: string): Promise<string> {
    const { status } = await plane.admin.do('GET', `${API}/namespaces/quickstart/${kind}/${name}`)
    const ready = status?.conditions?.find(({ type }: Manifest) => type === 'Ready')
    return `${ready?.status} ${ready?.reason}`
  }

  async function post(path: string, headers: Record<string, string>, body: string): Promise<Manifest> {
    const response = await fetch(`${url}/auth/realms/quickstart/protocol/openid-connect/${path}`, {
      method: 'POST',
      headers,
      body,
    })
    return response.json()
  }

  test(
    'serves resources applied by GitOps after an approval, and no call is forbidden',
    { timeout: 180_000 },
    async () => {
      // The namespace exists already.
      for (const file of ['02_realm', '03_client', '04_users', '05_role_assignments'])
        await plane.kubectl(['apply', '-f', `examples/quickstart/${file}.yaml`], { as: gitops })
      for (const name of ['alice-realm-admin', 'quickstart-dob']) {
        await until(async () => expect(await isReady('roleassignments', name)).toBe('False PendingApproval'))
        const args = ['approve', name, '--yes', '--namespace=quickstart', `--kubeconfig=${approver.kubeconfig}`]
        expect(await realmkeeper(args)).toMatchObject({ code: 0 })
        await until(async () => expect(await isReady('roleassignments', name)).toBe('True Granted'))
      }
      const form = { grant_type: 'password', ...CLIENT, username: 'alice', password: 'alice-password-1', scope: SCOPE }
      await until(async () => {
        const token = await post('token', FORM, new URLSearchParams(form).toString())
        recordSecrets(token.access_token, token.refresh_token)
        const bearer = { 'content-type': 'application/json', authorization: `Bearer ${token.access_token}` }
        const sealed = await post('encrypt', bearer, JSON.stringify({ field: 'dateOfBirth', value: '1990-04-01' }))
        expect(sealed.ciphertext).toMatch(/^rk1:1:/)
      })

      const events = await plane.admin.do('GET', '/api/v1/namespaces/quickstart/events')
      const reasons = events.items.map(({ reason }: Manifest) => reason)
      expect(reasons).not.toEqual([])
      const refused = parts.flatMap((part) =>
        part
          .output()
          .split('\n')
          .filter((line) => /forbidden/i.test(line)),
      )
      // The refusal of the operator's own probe is not logged either.
      expect(refused).toEqual([])
    },
  )

  test('deletes its resources and the namespace', { timeout: 120_000 }, async () => {
    const deletion = ['delete', '--wait=false', '-f', 'examples/quickstart/02_realm.yaml']
    const refused = await plane.tryKubectl(deletion, { as: gitops })
    expect(refused.stderr).toContain('deleting a Realm with identityGovernance requires the verb approve')
    await plane.kubectl(deletion)
    await plane.admin.do('DELETE', '/api/v1/namespaces/quickstart')
    await until(async () => expect((await plane.admin.call('GET', '/api/v1/namespaces/quickstart')).status).toBe(404))
  })
})
