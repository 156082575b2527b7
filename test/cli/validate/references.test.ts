import { describe, expect, test } from 'vitest'
import { checkObjects } from '../../../cli/validate/check_objects.ts'
import { manifestSet } from '../../../cli/validate/manifest_set.ts'
import type { ManifestSet } from '../../../cli/validate/manifest_set.ts'
import { parseManifests } from '../../../cli/validate/read_manifests.ts'
import { audienceFindings } from '../../../cli/validate/references/audience_references.ts'
import { duplicateFindings } from '../../../cli/validate/references/duplicates.ts'
import { realmReferenceFindings } from '../../../cli/validate/references/realm_references.ts'
import { roleReferenceFindings } from '../../../cli/validate/references/role_references.ts'
import { secretReferenceFindings } from '../../../cli/validate/references/secret_references.ts'
import { subjectReferenceFindings } from '../../../cli/validate/references/subject_references.ts'
import type { Finding } from '../../../cli/validate/finding.ts'

/** One document in flow style: the second line is metadata, the third spec. */
function doc(kind: string, name: string, spec: string, namespace = 'team'): string {
  return `{apiVersion: realmkeeper.io/v1beta1, kind: ${kind},\nmetadata: {name: ${name}, namespace: ${namespace}},\nspec: {${spec}}}\n`
}

function core(kind: string, name: string, rest: string, namespace = 'team'): string {
  const where = kind === 'Namespace' ? '' : `, namespace: ${namespace}`
  return `{apiVersion: v1, kind: ${kind}, metadata: {name: ${name}${where}${kind === 'Namespace' ? `, ${rest}` : ''}}${kind === 'Namespace' ? '' : `, ${rest}`}}\n`
}

const client = (name: string, rest: string, namespace = 'team') =>
  doc(
    'Client',
    name,
    `realmRef: {name: shop${namespace === 'team' ? '' : ', namespace: team'}}, clientId: ${name}${rest && `, ${rest}`}`,
    namespace,
  )
const user = (name: string, rest = '', namespace = 'team') =>
  doc('User', name, `realmRef: {name: shop}, username: ${name}${rest && `, ${rest}`}`, namespace)
const assignment = (rest: string) => doc('RoleAssignment', 'ra', `realmRef: {name: shop}, requestedBy: bob, ${rest}`)
const realm = (spec = '') => doc('Realm', 'shop', spec)

function setOf(documents: string[]): ManifestSet {
  const { manifests, findings } = parseManifests('a.yaml', documents.join('---\n'))
  expect(findings).toEqual([])
  const { checked, findings: broken } = checkObjects(manifests)
  expect(broken).toEqual([])
  return manifestSet(manifests, checked)
}

/** A table of document sets and the findings of one check, as patterns of `line severity field: message`. */
function check(rows: [name: string, documents: string[], expected: RegExp[]][], run: (set: ManifestSet) => Finding[]) {
  test.each(rows)('%s', (_, documents, expected) => {
    const findings = run(setOf(documents)).map(
      ({ line, severity, field, message }) => `${line} ${severity} ${field}: ${message}`,
    )
    expect(findings).toEqual(expected.map((pattern) => expect.stringMatching(pattern)))
  })
}

describe('row 93: realmRef', () => {
  const elsewhere = (spec: string) => doc('Realm', 'shop', spec, 'platform')
  const visitor = doc('User', 'alice', 'realmRef: {name: shop, namespace: platform}, username: alice')
  const namespace = (labels: string) => core('Namespace', 'team', `labels: {${labels}}`)
  const selector = (text: string) => elsewhere(`allowedNamespaces: {from: Selector, selector: {${text}}}`)

  check(
    [
      ['names a Realm', [realm(), user('alice')], []],
      [
        'is misspelled',
        [doc('Realm', 'store', ''), user('alice')],
        [/^7 error spec\.realmRef\.name: no Realm team\/shop/],
      ],
      [
        'names a Realm that is not in these files',
        [user('alice')],
        [/^3 note spec\.realmRef\.name: no Realm team\/shop/],
      ],
      [
        'names a Realm of another namespace that admits its own only',
        [elsewhere(''), visitor],
        [/^7 error spec\.realmRef\.namespace: .*does not admit the namespace team/],
      ],
      ['names a Realm that admits all', [elsewhere('allowedNamespaces: {from: All}'), visitor], []],
      [
        'names a Realm that admits by a label that fits',
        [selector('matchLabels: {a: b}'), namespace('a: b'), visitor],
        [],
      ],
      [
        'names a Realm that admits by a label that does not fit',
        [selector('matchLabels: {a: b}'), namespace('a: c'), visitor],
        [/^9 error .*does not admit/],
      ],
      [
        'names a Realm that admits by the label that every namespace has',
        [selector('matchLabels: {kubernetes.io/metadata.name: team}'), visitor],
        [],
      ],
      [
        'names a Realm that admits by unknown labels',
        [selector('matchLabels: {a: b}'), visitor],
        [/^7 note .*depends on its labels/],
      ],
      [
        'In fits',
        [selector('matchExpressions: [{key: a, operator: In, values: [b]}]'), namespace('a: b'), visitor],
        [],
      ],
      [
        'NotIn fits without the label',
        [selector('matchExpressions: [{key: a, operator: NotIn, values: [b]}]'), namespace(''), visitor],
        [],
      ],
      [
        'NotIn does not fit',
        [selector('matchExpressions: [{key: a, operator: NotIn, values: [b]}]'), namespace('a: b'), visitor],
        [/error/],
      ],
      [
        'Exists does not fit',
        [selector('matchExpressions: [{key: a, operator: Exists}]'), namespace(''), visitor],
        [/error/],
      ],
      [
        'DoesNotExist fits',
        [selector('matchExpressions: [{key: a, operator: DoesNotExist}]'), namespace(''), visitor],
        [],
      ],
    ],
    realmReferenceFindings,
  )
})

describe('row 95: Secrets', () => {
  const password = user('alice', 'passwordSecretRef: {name: pw}')
  const withSecret = client('web', 'clientSecret: {secretRef: {name: cs, key: value}}')
  const secret = (name: string, data: string) => core('Secret', name, `stringData: {${data}}`)

  check(
    [
      ['exists', [password, secret('pw', 'password: a-password')], []],
      [
        'is missing among others',
        [password, secret('other', 'a: b')],
        [/^3 error spec\.passwordSecretRef\.name: no Secret team\/pw/],
      ],
      ['is in another namespace', [password, core('Secret', 'pw', 'stringData: {password: a}', 'other')], [/^3 note/]],
      ['is not in these files', [password], [/^3 note spec\.passwordSecretRef\.name: no Secret team\/pw/]],
      [
        'is created by an ExternalSecret',
        [
          password,
          secret('other', 'a: b'),
          '{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: x, namespace: team}, spec: {target: {name: pw}}}\n',
        ],
        [],
      ],
      [
        'is created by a SealedSecret',
        [
          password,
          secret('other', 'a: b'),
          '{apiVersion: bitnami.com/v1alpha1, kind: SealedSecret, metadata: {name: pw, namespace: team}}\n',
        ],
        [],
      ],
      [
        'has no such key',
        [password, secret('pw', 'passwort: a')],
        [/^3 error spec\.passwordSecretRef\.key: the Secret pw has no entry password/],
      ],
      [
        'is empty',
        [password, secret('pw', "password: ''")],
        [/^3 error spec\.passwordSecretRef\.key: the entry password .* is empty/],
      ],
      ['ends with a newline', [password, secret('pw', 'password: "a\\n"')], [/^3 note .*newline/]],
      ['is given in base64', [password, core('Secret', 'pw', 'data: {password: YWJj}')], []],
      ['is long enough for a client', [withSecret, secret('cs', 'value: 0123456789abcdef')], []],
      [
        'is too short for a client',
        [withSecret, secret('cs', 'value: 0123456789abcde')],
        [/^3 error spec\.clientSecret\.secretRef\.key: .*less than 16 characters/],
      ],
      [
        'is a keyring',
        [
          password,
          '{apiVersion: v1, kind: Secret, metadata: {name: pw, namespace: team, labels: {realmkeeper.io/keyring: "true"}}}\n',
        ],
        [/^3 error .*is a keyring/],
      ],
      [
        'is a license that is issued later',
        [realm('identityProvider: {alias: a, licenseSecretRef: {name: l}}'), secret('other', 'a: b')],
        [/^3 note spec\.identityProvider\.licenseSecretRef\.name/],
      ],
      [
        'would be generated over an existing one',
        [client('web', ''), secret('web-client', 'a: b')],
        [/^3 error spec\.clientSecret: .*generated into the Secret web-client/],
      ],
      ['is not generated for a public client', [client('web', 'type: Public'), secret('web-client', 'a: b')], []],
    ],
    secretReferenceFindings,
  )

  test('a finding does not repeat a value', () => {
    const documents = [withSecret, secret('cs', 'value: short-secret'), password, secret('pw', 'password: "canary\\n"')]
    const text = JSON.stringify(secretReferenceFindings(setOf(documents)))
    expect(text).toContain('less than 16')
    expect(text).not.toMatch(/short-secret|canary/)
  })
})

describe('roles', () => {
  const shop = realm(
    'roles: [{name: reader}, {name: writer, composites: [reader]}], fieldEncryption: {fields: [{name: DOB}]}',
  )
  const alice = 'subject: {kind: User, name: alice}'

  check(
    [
      ['exist', [shop, assignment(`${alice}, roles: [reader, svc-realm-admin, _svc_dob.selfencrypt]`)], []],
      [
        'are misspelled',
        [shop, assignment(`${alice}, roles: [reader, wrter]`)],
        [/^7 error spec\.roles\[1\]: the realm "shop" has no role wrter; did you mean writer\?/],
      ],
      [
        'of a field that does not exist',
        [shop, assignment(`${alice}, roles: [_svc_name.selfdecrypt]`)],
        [/no role _svc_name/],
      ],
      [
        'of a field, misspelled',
        [shop, assignment(`${alice}, roles: [_svc_dob.decrypt]`)],
        [/no role _svc_dob\.decrypt/],
      ],
      ['of a realm that is not in these files', [assignment(`${alice}, roles: [anything]`)], []],
      [
        'composed of one that does not exist',
        [realm('roles: [{name: a, composites: [b]}]')],
        [/^3 error spec\.roles\[0\]\.composites\[0\]: .*no role b/],
      ],
      [
        'allowed to a client',
        [shop, client('web', 'fullScopeAllowed: false, allowedRoles: [reader, default-roles-shop]')],
        [],
      ],
      [
        'allowed to a client and missing',
        [shop, client('web', 'allowedRoles: [raeder]')],
        [/^7 error spec\.allowedRoles\[0\]/],
      ],
    ],
    roleReferenceFindings,
  )
})

describe('subjects', () => {
  const roles = 'roles: [svc-realm-admin]'
  const other = doc('Realm', 'other', '')

  check(
    [
      ['a User', [realm(), user('alice'), assignment(`subject: {kind: User, name: alice}, ${roles}`)], []],
      [
        'a User that is misspelled',
        [realm(), user('alice'), assignment(`subject: {kind: User, name: alcie}, ${roles}`)],
        [/^11 error spec\.subject\.name: no User team\/alcie/],
      ],
      [
        'a User that is not in these files',
        [realm(), assignment(`subject: {kind: User, name: alice}, ${roles}`)],
        [/^7 note/],
      ],
      [
        'a User of another realm',
        [
          realm(),
          other,
          doc('User', 'alice', 'realmRef: {name: other}, username: alice'),
          assignment(`subject: {kind: User, name: alice}, ${roles}`),
        ],
        [/^15 error .*belongs to another realm, "other"/],
      ],
      ['the Group', [realm(), assignment(`subject: {kind: Group, name: default-roles-shop}, ${roles}`)], []],
      [
        'the Group of a realm with spec.realm',
        [realm('realm: store'), assignment(`subject: {kind: Group, name: default-roles-store}, ${roles}`)],
        [],
      ],
      [
        'another Group',
        [realm(), assignment(`subject: {kind: Group, name: default-roles-shopp}, ${roles}`)],
        [/^7 error spec\.subject\.name: the only Group of this realm is default-roles-shop/],
      ],
      [
        'the Group, from another namespace',
        [
          doc('Realm', 'shop', 'allowedNamespaces: {from: All}', 'platform'),
          doc(
            'RoleAssignment',
            'ra',
            `realmRef: {name: shop, namespace: platform}, requestedBy: b, subject: {kind: Group, name: default-roles-shop}, ${roles}`,
          ),
        ],
        [/^7 error spec\.subject\.kind: .*own namespace, platform/],
      ],
    ],
    subjectReferenceFindings,
  )
})

describe('audiences', () => {
  const shop = realm('allowedNamespaces: {from: All}')
  const web = client('web', 'audiences: [orders]', 'other')

  check(
    [
      ['in the same namespace', [shop, client('web', 'audiences: [orders]'), client('orders', '')], []],
      ['that are not a client', [shop, client('web', 'audiences: ["https://api.example.com"]')], []],
      ['in another namespace that lists the client', [shop, web, client('orders', 'acceptsTokensFrom: [web]')], []],
      [
        'in another namespace that does not',
        [shop, web, client('orders', '')],
        [/^7 error spec\.audiences\[0\]: .*does not list "web" in acceptsTokensFrom/],
      ],
    ],
    audienceFindings,
  )
})

describe('row 94: names that two objects use', () => {
  check(
    [
      ['nothing', [realm(), client('web', ''), user('alice'), user('bob')], []],
      ['an object twice', [realm(), realm()], [/^6 error metadata\.name: this object occurs already in a\.yaml:2/]],
      [
        'the same name in two namespaces',
        [user('alice'), doc('User', 'alice', 'realmRef: {name: shop}, username: alice', 'other')],
        [],
      ],
      [
        'a realm name',
        [doc('Realm', 'a', 'realm: shop'), doc('Realm', 'shop', '', 'other')],
        [/^7 error spec\.realm: Realm team\/a \(a\.yaml:3\) has the same realm name/],
      ],
      [
        'a clientId',
        [realm(), client('web', ''), doc('Client', 'web2', 'realmRef: {name: shop}, clientId: web')],
        [/^11 error spec\.clientId: Client team\/web \(a\.yaml:7\) has the same clientId/],
      ],
      [
        'a clientId in two realms',
        [
          realm(),
          doc('Realm', 'other', ''),
          client('web', ''),
          doc('Client', 'web2', 'realmRef: {name: other}, clientId: web'),
        ],
        [],
      ],
      [
        'a username in another case',
        [realm(), user('alice'), doc('User', 'alice2', 'realmRef: {name: shop}, username: ＡLICE')],
        [/^11 error spec\.username: .*the same username/],
      ],
      [
        'a subject',
        [realm(), user('alice', 'subject: s1'), user('bob', 'subject: s1')],
        [/^11 error spec\.subject: User team\/alice .*the same subject/],
      ],
    ],
    duplicateFindings,
  )
})
