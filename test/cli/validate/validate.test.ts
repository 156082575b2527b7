import { mkdtemp, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Finding } from '../../../cli/validate/finding.ts'
import { hasErrors } from '../../../cli/validate/finding.ts'
import { validatePaths } from '../../../cli/validate/validate.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'validate-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true })
})

/** Findings as `file:line:column severity field: message`, without the folder. */
async function validate(files: Record<string, string>): Promise<string[]> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  return (await validatePaths([folder])).map(short)
}

function short({ file, line, column, severity, field, message }: Finding): string {
  return `${file.slice(folder.length + 1)}:${line}:${column} ${severity} ${field ?? '-'}: ${message}`
}

/** A manifest of the namespace `team`; `spec` is YAML without indentation. The spec begins on line 6. */
function manifest(kind: string, name: string, spec: string, namespace = 'team'): string {
  const indented = spec.trim().replaceAll(/^/gm, '  ')
  return `apiVersion: realmkeeper.io/v1beta1\nkind: ${kind}\nmetadata: {name: ${name}, namespace: ${namespace}}\n# the spec begins below\nspec:\n${indented}\n`
}

function secret(name: string, data: string, namespace = 'team'): string {
  return `apiVersion: v1\nkind: Secret\nmetadata: {name: ${name}, namespace: ${namespace}}\nstringData: ${data}\n`
}

const realm = manifest('Realm', 'shop', 'enabled: true')

describe('files', () => {
  test('a folder of valid files gives no finding', async () => {
    expect(await validate({ 'a.yaml': realm })).toEqual([])
  })

  test('nested folders are read; hidden folders and other files are not', async () => {
    const broken = 'spec: [\n'
    expect(
      await validate({ 'a/b/c.yml': broken, '.git/d.yaml': broken, 'node_modules/e.yaml': broken, 'f.txt': broken }),
    ).toEqual([expect.stringMatching(/^a\/b\/c\.yml:2:1 error -: not valid YAML: /)])
  })

  test('JSON files are read too', async () => {
    const text =
      '{"apiVersion": "realmkeeper.io/v1beta1", "kind": "Realm",\n "metadata": {"name": "shop"},\n "spec": {"enabled": 1}}'
    expect(await validate({ 'a.json': text })).toEqual(['a.json:3:22 error spec.enabled: must be a boolean'])
  })

  test('a path that does not exist is a finding', async () => {
    const findings = await validatePaths([join(folder, 'none')])
    expect(findings).toMatchObject([{ line: 1, severity: 'error', message: 'no such file or folder' }])
  })

  test('a file named twice is read once', async () => {
    await validate({ 'a.yaml': realm })
    expect(await validatePaths([folder, join(folder, 'a.yaml')])).toEqual([])
  })

  test('a link to a parent folder does not recurse', async () => {
    await symlink(folder, join(folder, 'loop.yaml'))
    expect((await validate({ 'a.yaml': realm })).filter((line) => !line.includes('EISDIR'))).toEqual([])
  })

  test('files without an object of the group give a note', async () => {
    const findings = await validate({ 'a.yaml': 'apiVersion: apps/v1\nkind: Deployment\nspec: {yes: no}\n' })
    expect(findings).toEqual([expect.stringContaining('note -: no object of realmkeeper.io in these files')])
  })
})

describe('YAML', () => {
  test('a broken document is reported with file and line, and the others are still checked', async () => {
    const text = `${realm}---\nkind: {\n---\n${manifest('Realm', 'other', 'colour: red')}`
    expect(await validate({ 'a.yaml': text })).toEqual([
      expect.stringMatching(/^a\.yaml:9:1 error -: not valid YAML: /),
      'a.yaml:15:11 error spec.colour: unknown field',
    ])
  })

  test('a key twice', async () => {
    const text = manifest('Realm', 'shop', 'enabled: true\nenabled: false')
    expect(await validate({ 'a.yaml': text })).toEqual([
      expect.stringMatching(/^a\.yaml:7:3 error -: .*this key is already there/),
    ])
  })

  test('a syntax error does not repeat the value of a Secret', async () => {
    const text = 'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  password: |hunter2\n'
    expect(await validate({ 'a.yaml': text })).toEqual([
      'a.yaml:5:14 error -: not valid YAML: unexpected text; check the indentation and quotes around it',
    ])
  })

  test('an anchor that multiplies itself is refused', async () => {
    const level = (name: string, below: string) => `${name}: &${name} [${Array(20).fill(`*${below}`).join(', ')}]\n`
    const text = `a: &a [1]\n${level('b', 'a')}${level('c', 'b')}${level('d', 'c')}`
    expect(await validate({ 'a.yaml': text })).toEqual([
      expect.stringMatching(/^a\.yaml:1:1 error -: nested too deeply/),
    ])
  })

  test('an anchor inside itself is refused', async () => {
    const text = manifest('User', 'alice', 'realmRef: {name: shop}\nusername: alice\nattributes: &a {department: *a}')
    expect(await validate({ 'a.yaml': text })).toEqual([
      expect.stringMatching(/^a\.yaml:1:1 error -: nested too deeply/),
    ])
  })

  test('an endlessly nested list is refused', async () => {
    const text = `a: ${'['.repeat(20_000)}`
    expect(await validate({ 'a.yaml': text })).toEqual([expect.stringMatching(/^a\.yaml:1:.* error -: /)])
  })

  test('the items of a List are checked', async () => {
    const text = `apiVersion: v1\nkind: List\nitems:\n  - apiVersion: realmkeeper.io/v1beta1\n    kind: Realm\n    metadata: {name: shop}\n    spec:\n      enabled: 1\n`
    expect(await validate({ 'a.yaml': text })).toEqual(['a.yaml:8:16 error spec.enabled: must be a boolean'])
  })

  test.each([
    ['displayName: 0777', 'plain 0777 is an octal number'],
    ['displayName: yes', 'plain yes is a boolean'],
    ['displayName: Off', 'plain Off is a boolean'],
    ['displayName: y', 'plain y is a boolean'],
    ['displayName: 1_000', 'plain 1_000 is a number'],
    ['displayName: 1:30', 'plain 1:30 is a number in base 60'],
    ['displayName: 0b11', 'plain 0b11 is a binary number'],
  ])('%s is read in two ways', async (spec, message) => {
    const findings = await validate({ 'a.yaml': manifest('Realm', 'shop', spec) })
    expect(findings).toContain(
      `a.yaml:6:16 error -: ${message} for kubectl (YAML 1.1); quote it, or write it in another way`,
    )
  })

  test.each([
    'displayName: "0777"',
    "displayName: 'yes'",
    'displayName: yes please',
    'displayName: a_b',
    'displayName: "1:30"',
  ])('%s is read in one way', async (spec) => {
    expect(await validate({ 'a.yaml': manifest('Realm', 'shop', spec) })).toEqual([])
  })

  test('such a value in a Secret is not repeated', async () => {
    const findings = await validate({ 'a.yaml': realm, 's.yaml': secret('s', '{password: 0777}') })
    expect(findings).toEqual([expect.stringMatching(/^s\.yaml:4:24 error -: this plain value is an octal number/)])
    expect(findings.join()).not.toContain('0777')
  })
})

describe('objects', () => {
  test('an unknown field', async () => {
    const text = manifest('Realm', 'shop', 'tokens:\n  accessTokenLifetimeSecond: 60')
    expect(await validate({ 'a.yaml': text })).toEqual([
      'a.yaml:7:32 error spec.tokens.accessTokenLifetimeSecond: unknown field; did you mean accessTokenLifetimeSeconds?',
    ])
  })

  test('a missing field is reported at its parent', async () => {
    const text = manifest('Client', 'web', 'realmRef:\n  name: shop')
    expect(await validate({ 'a.yaml': text + '---\n' + realm })).toEqual([
      'a.yaml:5:1 error spec.clientId: is required',
    ])
  })

  test('a broken CEL rule', async () => {
    const text = manifest('Realm', 'shop', 'tokens:\n  accessTokenLifetimeSeconds: 3600')
    expect(await validate({ 'a.yaml': text })).toEqual([
      'a.yaml:7:33 error spec.tokens.accessTokenLifetimeSeconds: accessTokenLifetimeSeconds cannot be more than refreshTokenLifetimeSeconds',
    ])
  })

  test('a broken CEL rule about an item of a list', async () => {
    const text = manifest(
      'Client',
      'web',
      'realmRef: {name: shop}\nclientId: web\nredirectUris:\n  - https://a.example/cb\n  - javascript:alert(1)',
    )
    expect(await validate({ 'a.yaml': text, 'r.yaml': realm })).toEqual([
      expect.stringMatching(/^a\.yaml:10:7 error spec\.redirectUris\[1\]: the scheme must be https/),
    ])
  })

  test('fields of one tag', async () => {
    const text = manifest(
      'Realm',
      'shop',
      'fieldEncryption:\n  fields:\n    - name: dob\n    - {name: dateOfBirth, tag: dob}',
    )
    expect(await validate({ 'a.yaml': text })).toEqual([
      expect.stringMatching(/^a\.yaml:7:5 error spec\.fieldEncryption\.fields: two fields have the same tag/),
    ])
  })

  test('a kind that the group does not have', async () => {
    const text = manifest('RoleAssigment', 'a', 'roles: []')
    expect(await validate({ 'a.yaml': text })).toEqual([
      expect.stringMatching(/^a\.yaml:2:7 error kind: .*; did you mean RoleAssignment\?$/),
    ])
  })

  test('a misspelled group', async () => {
    expect(await validate({ 'a.yaml': realm.replace('realmkeeper', 'realmkeper') })).toEqual([
      'a.yaml:1:13 error apiVersion: unknown group; did you mean realmkeeper.io/v1beta1?',
    ])
  })

  test('a former version is valid and noted, an unknown one is refused', async () => {
    expect(await validate({ 'a.yaml': realm.replace('v1beta1', 'v1alpha1') })).toEqual([
      'a.yaml:1:13 note apiVersion: realmkeeper.io/v1alpha1 is deprecated; write realmkeeper.io/v1beta1',
    ])
    expect(await validate({ 'a.yaml': realm.replace('v1beta1', 'v1') })).toEqual([
      expect.stringMatching(/^a\.yaml:1:13 error apiVersion: must be realmkeeper\.io\/v1beta1/),
    ])
  })

  test('kinds of other groups are ignored, also if they have a name of ours', async () => {
    const text = 'apiVersion: keycloak.example.com/v1\nkind: User\nmetadata: {name: a}\nspec: {password: yes}\n'
    expect(await validate({ 'a.yaml': text, 'r.yaml': realm })).toEqual([])
  })

  test('row 90: an object of more than 1.5 MB', async () => {
    const roles = Array.from(
      { length: 512 },
      (_, i) =>
        `- {name: r${i}, description: ${'x'.repeat(1000)}, composites: [${Array.from({ length: 40 }, (_, j) => 'y'.repeat(60) + j).join(', ')}]}`,
    )
    const findings = await validate({ 'a.yaml': manifest('Realm', 'shop', `roles:\n${roles.join('\n')}`) })
    expect(findings[0]).toContain('is larger than 1.5 MiB, which no API server stores')
  })

  test('escape sequences do not reach the terminal', async () => {
    const findings = await validatePathsOf(manifest('"Realm\\e[31m"', 'shop', 'enabled: true'))
    const { renderFindings } = await import('../../../cli/validate/finding.ts')
    expect(findings).toHaveLength(1)
    expect(renderFindings(findings)).not.toContain('\u001b')
  })

  async function validatePathsOf(text: string): Promise<Finding[]> {
    await writeFile(join(folder, 'a.yaml'), text)
    return validatePaths([folder])
  }
})

test('errors make the command fail, notes do not', async () => {
  await validate({ 'a.yaml': manifest('User', 'alice', 'realmRef: {name: shop}\nusername: alice') })
  const findings = await validatePaths([folder])
  expect(findings.map(({ severity }) => severity)).toEqual(['note'])
  expect(hasErrors(findings)).toBe(false)
  expect(hasErrors([{ ...findings[0]!, severity: 'error' }])).toBe(true)
})
