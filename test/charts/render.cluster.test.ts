import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { OPERATOR_SETTINGS, SERVER_SETTINGS } from '../../process/settings.ts'
import { configFrom } from '../support/config.ts'
import { ROOT } from '../support/source_files.ts'
import { CHART, find, helm, render, VALUES } from './helm.ts'
import type { Manifest } from './helm.ts'

const CUSTOM_VERBS = ['approve', 'report', 'request-on-behalf', 'set-subject']

describe('the chart', () => {
  test('passes the linter', async () => {
    const { code, stdout, stderr } = await helm(['lint', CHART, '--strict'], { values: VALUES })
    expect({ code, output: stdout + stderr }).toMatchObject({ code: 0 })
  })

  test('has the CRDs and policies of crds/, and an uninstall keeps them', async () => {
    const manifests = await render()
    const sources = ['crds/*.yaml', 'crds/policies/*.yaml']
      .flatMap((pattern) => globSync(pattern, { cwd: ROOT }))
      .flatMap((path) => parseAllDocuments(readFileSync(join(ROOT, path), 'utf8')).map((one) => one.toJS()))
    expect(sources).toHaveLength(12)
    for (const source of sources) {
      expect(find(manifests, source.kind, source.metadata.name)).toEqual(source)
      expect(source.metadata.annotations).toMatchObject({ 'helm.sh/resource-policy': 'keep' })
    }
  })

  test('omits CRDs and policies on request', async () => {
    const manifests = await render({ crds: { install: false }, policies: { install: false } })
    const kinds = new Set(manifests.map(({ kind }) => kind))
    expect(kinds).not.toContain('CustomResourceDefinition')
    expect(kinds).not.toContain('ValidatingAdmissionPolicy')
  })

  test.for(['operator', 'server'])('the %s runs with minimal rights', async (component) => {
    const { spec } = find(await render(), 'Deployment', `realmkeeper-${component}`).spec.template
    expect(spec).toMatchObject({
      enableServiceLinks: false,
      serviceAccountName: `realmkeeper-${component}`,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    })
    const [container] = spec.containers
    expect(container).toMatchObject({
      args: [component],
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
      resources: { requests: expect.anything(), limits: { memory: expect.anything() } },
      livenessProbe: { httpGet: { path: '/livez', port: 'health' } },
      readinessProbe: { httpGet: { path: '/readyz', port: 'health' } },
    })
    for (const port of ['health', component === 'server' ? 'http' : 'health'])
      expect(container.ports.map(({ name }: Manifest) => name)).toContain(port)
  })

  test('the processes accept the configuration of the chart', async () => {
    const manifests = await render({
      watchNamespaces: ['acme', 'globex'],
      licenseKeys: { existingConfigMap: 'keys' },
      operator: {
        trustExistingDecisions: true,
        acceptEmpty: ['User', 'Client'],
        acceptAuditBreak: '0123456789abcdef',
        workers: { users: 16 },
        apiRequestsPerSecond: 50,
      },
      server: { trustedProxies: ['10.0.0.0/8', 'fd00::/8'] },
    })
    const operator = environmentOf(find(manifests, 'Deployment', 'realmkeeper-operator'))
    expect(configFrom(OPERATOR_SETTINGS, [], operator)).toMatchObject({
      baseUrl: 'https://id.example.com',
      keyringNamespace: 'realmkeeper',
      leaseNamespace: 'realmkeeper',
      leaseName: 'realmkeeper-operator',
      watchNamespaces: ['acme', 'globex'],
      licenseKeys: '/etc/realmkeeper/license-keys/keys.json',
      requireApprovalEnforcement: true,
      trustExistingDecisions: true,
      acceptEmpty: 'User,Client',
      acceptAuditBreak: '0123456789abcdef',
      realmWorkers: 2,
      clientWorkers: 4,
      userWorkers: 16,
      roleAssignmentWorkers: 4,
      apiRequestsPerSecond: 50,
      healthPort: 9001,
    })
    const server = environmentOf(find(manifests, 'Deployment', 'realmkeeper-server'))
    expect(configFrom(SERVER_SETTINGS, [], server)).toMatchObject({
      baseUrl: 'https://id.example.com',
      keyringNamespace: 'realmkeeper',
      databaseConnections: 10,
      listenPort: 8080,
      healthPort: 9000,
    })
  })

  test('servers, the operator and migrations have URLs of their own', async () => {
    const database = {
      existingSecret: 'databases',
      serverKey: 'server-url',
      serverRole: 'rk server',
      migrationsKey: 'owner-url',
      operatorRole: 'rk_operator',
    }
    const manifests = await render({ database })
    const entries = (name: string): object => {
      const variables: Manifest[] = find(manifests, 'Deployment', name).spec.template.spec.containers[0].env
      const fromSecret = variables.filter(({ valueFrom }) => valueFrom?.secretKeyRef.name === 'databases')
      return Object.fromEntries(fromSecret.map(({ name, valueFrom }) => [name, valueFrom.secretKeyRef.key]))
    }
    expect(entries('realmkeeper-server')).toEqual({ REALMKEEPER_DATABASE_URL: 'server-url' })
    expect(entries('realmkeeper-operator')).toEqual({
      REALMKEEPER_DATABASE_URL: 'url',
      REALMKEEPER_MIGRATE_DATABASE_URL: 'owner-url',
    })
    const operator = environmentOf(find(manifests, 'Deployment', 'realmkeeper-operator'))
    expect(configFrom(OPERATOR_SETTINGS, [], operator)).toMatchObject({
      migrateDatabaseUrl: 'postgres://u:p@db/realmkeeper',
      serverDatabaseRole: 'rk server',
      operatorDatabaseRole: 'rk_operator',
    })
    const server = environmentOf(find(manifests, 'Deployment', 'realmkeeper-server'))
    expect(configFrom(SERVER_SETTINGS, [], server)).toMatchObject({ databaseUrl: 'postgres://u:p@db/realmkeeper' })
  })

  test('the URL of the database comes only from a Secret', async () => {
    const { spec } = find(await render(), 'Deployment', 'realmkeeper-server').spec.template
    const variable = spec.containers[0].env.find(({ name }: Manifest) => name === 'REALMKEEPER_DATABASE_URL')
    expect(variable).toEqual({
      name: 'REALMKEEPER_DATABASE_URL',
      valueFrom: { secretKeyRef: { name: 'realmkeeper-database', key: 'url' } },
    })
  })

  test('no role is aggregated by default, and on request none that has one of our verbs', async () => {
    const aggregatedRoles = async (values: object) =>
      (await render(values)).filter(
        ({ kind, metadata }) =>
          kind === 'ClusterRole' &&
          Object.keys(metadata.labels).some((label) => label.startsWith('rbac.authorization.k8s.io/aggregate-to-')),
      )
    expect(await aggregatedRoles({})).toEqual([])
    const aggregated = await aggregatedRoles({ rbac: { aggregateToView: true } })
    expect(aggregated.map(({ metadata }) => metadata.name)).toEqual(['realmkeeper-viewer'])
    expect(aggregated.flatMap(({ rules }) => rules.flatMap((rule: Manifest) => rule.verbs))).toEqual([
      'get',
      'list',
      'watch',
    ])
  })

  test("no role has '*', and each of our verbs is in the right roles", async () => {
    const values = { rbac: { realmApprovers: [{ namespace: 'acme', realm: 'acme' }] } }
    const roles = (await render(values)).filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role')
    expect(JSON.stringify(roles)).not.toContain('"*"')
    const holders = CUSTOM_VERBS.map((verb) => [
      verb,
      roles
        .filter(({ rules }) => rules.some(({ verbs }: Manifest) => verbs.includes(verb)))
        .map(({ metadata }): string => metadata.name)
        .toSorted(),
    ])
    expect(Object.fromEntries(holders)).toEqual({
      approve: ['realmkeeper-approver', 'realmkeeper-approver-acme', 'realmkeeper-assignment-approver'],
      report: ['realmkeeper-operator'],
      'request-on-behalf': ['realmkeeper-gitops'],
      'set-subject': ['realmkeeper-subject-setter'],
    })
  })

  describe('network policies', () => {
    const policies = async (networkPolicy: object): Promise<Manifest[]> =>
      (await render({ networkPolicy })).filter(({ kind }) => kind === 'NetworkPolicy')
    const INGRESS = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }]
    const PROMETHEUS = [{ podSelector: { matchLabels: { app: 'prometheus' } } }, { ipBlock: { cidr: '10.1.0.0/16' } }]

    test('are rendered on request only', async () => {
      expect(await policies({})).toEqual([])
    })

    test('by default admit all to the public port, and no pod to the health ports', async () => {
      const [operator, server] = await policies({ enabled: true })
      expect(operator.spec).toMatchObject({ policyTypes: ['Ingress'], ingress: [] })
      expect(server.spec).toMatchObject({ policyTypes: ['Ingress'], ingress: [{ ports: [{ port: 8080 }] }] })
      expect(server.spec.ingress[0]).not.toHaveProperty('from')
    })

    test('admit the given peers', async () => {
      const [operator, server] = await policies({ enabled: true, publicFrom: INGRESS, healthFrom: PROMETHEUS })
      expect(operator.spec.ingress).toEqual([{ from: PROMETHEUS, ports: [{ port: 9001 }] }])
      expect(server.spec.ingress).toEqual([
        { from: INGRESS, ports: [{ port: 8080 }] },
        { from: PROMETHEUS, ports: [{ port: 9000 }] },
      ])
    })

    test('select the pods of operator and server, at the ports where they listen', async () => {
      const manifests = await render({ networkPolicy: { enabled: true, publicFrom: INGRESS, healthFrom: PROMETHEUS } })
      for (const component of ['operator', 'server']) {
        const { spec } = find(manifests, 'NetworkPolicy', `realmkeeper-${component}`)
        const { template } = find(manifests, 'Deployment', `realmkeeper-${component}`).spec
        expect(template.metadata.labels).toMatchObject(spec.podSelector.matchLabels)
        const limited = spec.ingress.flatMap(({ ports }: Manifest) => ports.map(({ port }: Manifest) => port))
        const listens = template.spec.containers[0].ports.map(({ containerPort }: Manifest) => containerPort)
        expect(limited.toSorted()).toEqual(listens.toSorted())
      }
    })
  })

  test('the operator that watches some namespaces has no right to Secrets of others', async () => {
    const manifests = await render({ watchNamespaces: ['acme'] })
    const { rules } = find(manifests, 'ClusterRole', 'realmkeeper-operator')
    expect(rules.flatMap(({ resources }: Manifest) => resources)).not.toContain('secrets')
    const roles = manifests.filter(({ kind, rules }) => kind === 'Role' && JSON.stringify(rules).includes('"secrets"'))
    expect(roles.map(({ metadata }): string => metadata.namespace).toSorted()).toEqual(['acme', 'realmkeeper'])
  })

  test.for<[string, object, string]>([
    ['no baseUrl', { baseUrl: '' }, '/baseUrl'],
    ['a baseUrl with a query', { baseUrl: 'https://id.example.com/?a=b' }, '/baseUrl'],
    ['a baseUrl that is not a URL', { baseUrl: 'id.example.com' }, '/baseUrl'],
    ['no database', { database: { existingSecret: '' } }, '/database/existingSecret'],
    ['a database URL among the values', { database: { existingSecret: 'a', url: 'postgres://' } }, "'url'"],
    ['a break of the audit by no name', { operator: { acceptAuditBreak: 'all' } }, '/operator/acceptAuditBreak'],
    ['a misspelled name', { requireAprovalEnforcement: false }, "'requireAprovalEnforcement'"],
    ['text for a boolean', { requireApprovalEnforcement: 'no' }, '/requireApprovalEnforcement'],
    ['no replicas', { server: { replicas: 0 } }, '/server/replicas'],
    ['a fraction of a replica', { server: { replicas: 1.5 } }, '/server/replicas'],
    ['an unknown level', { operator: { logLevel: 'loud' } }, '/operator/logLevel'],
    ['an invalid namespace', { watchNamespaces: ['Acme'] }, '/watchNamespaces/0'],
    ['a list of namespaces as text', { watchNamespaces: 'acme,globex' }, '/watchNamespaces'],
    ['an invalid digest', { image: { digest: 'latest' } }, '/image/digest'],
    ['a proxy by name', { server: { trustedProxies: ['ingress'] } }, '/server/trustedProxies/0'],
    ['a peer without a selector', { networkPolicy: { healthFrom: [{}] } }, '/networkPolicy/healthFrom/0'],
    ['a peer by address', { networkPolicy: { publicFrom: ['10.0.0.0/8'] } }, '/networkPolicy/publicFrom/0'],
    ['a port over 65535', { service: { port: 70_000 } }, '/service/port'],
    ['a realm without its namespace', { rbac: { realmApprovers: [{ realm: 'acme' }] } }, 'namespace'],
  ])('refuses %s', async ([, values, message]) => {
    await expect(render(values)).rejects.toThrow(message)
  })
})

/** The environment of the container, with a URL in place of the Secret. */
function environmentOf({ spec }: Manifest): Record<string, string> {
  const variables: Manifest[] = spec.template.spec.containers[0].env
  return Object.fromEntries(variables.map(({ name, value = 'postgres://u:p@db/realmkeeper' }) => [name, value]))
}
