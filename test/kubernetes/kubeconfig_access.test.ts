import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiAccessError } from '../../kubernetes/access.ts'
import { kubeconfigAccess } from '../../kubernetes/kubeconfig_access.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'realmkeeper-kubeconfig-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function fileOf(text: string): string {
  const file = join(folder, 'config')
  writeFileSync(file, text)
  return file
}

const good = `
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: 'https://a.example:6443'}}, {name: b, cluster: {server: 'https://b.example/path/'}}]
users: [{name: me, user: {token: not-for-messages}}]
contexts: [{name: one, context: {cluster: a, user: me}}, {name: two, context: {cluster: b, user: me, namespace: shop}}, {name: none, context: {cluster: c, user: me}}]
current-context: one
`

test('the current context, or the one that is named', async () => {
  const file = fileOf(good)
  const current = kubeconfigAccess({ file })
  expect(current.namespace).toBeUndefined()
  expect((await current.read()).url).toBe('https://a.example:6443')
  const named = kubeconfigAccess({ file, context: 'two' })
  expect(named.namespace).toBe('shop')
  expect((await named.read()).url).toBe('https://b.example/path')
})

test.for([
  ['that is missing', () => join(folder, 'missing'), undefined, /missing: no such file/],
  ['that is not YAML', () => fileOf('token: [not-for-messages'), undefined, /is not a valid kubeconfig/],
  ['without clusters', () => fileOf('users: []'), undefined, /names no cluster/],
  ['with a name missing', () => fileOf('clusters: [{cluster: {server: x}}]'), undefined, /is not a valid kubeconfig/],
  ['whose context names a cluster that is missing', () => fileOf(good), 'none', /context "none" names no cluster/],
  ['without the context that was named', () => fileOf(good), 'three', /context "three" names no cluster/],
] as const)('a file %s is reported, without any of its content', ([, file, context, message]) => {
  const load = (): unknown => kubeconfigAccess({ file: file(), context })
  expect(load).toThrow(ApiAccessError)
  expect(load).toThrow(message)
  expect(load).not.toThrow(/not-for-messages/)
})

describe('for a process that runs unattended', () => {
  const base64 = (text: string): string => Buffer.from(text).toString('base64')

  function configOf({ cluster = {}, user = {} }: { cluster?: object; user?: object }): string {
    const config = {
      'current-context': 'here',
      contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: 'https://api.example.com/', ...cluster } }],
      users: [{ name: 'u', user }],
    }
    return fileOf(JSON.stringify(config))
  }
  const read = async (file: string) => kubeconfigAccess({ file, unattended: true }).read()

  test('a kubeconfig gives certificates and tokens, in itself or in files of the same folder', async () => {
    writeFileSync(join(folder, 'ca.pem'), 'authority')
    writeFileSync(join(folder, 'token'), 'from-file\n')
    const user = { 'client-certificate-data': base64('certificate'), 'client-key-data': base64('key') }
    expect(await read(configOf({ cluster: { 'certificate-authority': 'ca.pem' }, user }))).toEqual({
      url: 'https://api.example.com',
      headers: {},
      connection: { ca: Buffer.from('authority'), cert: Buffer.from('certificate'), key: Buffer.from('key') },
    })
    expect(await read(configOf({ user: { tokenFile: 'token', token: 'stale' } }))).toMatchObject({
      headers: { Authorization: 'Bearer from-file' },
    })
  })

  test.for<[string, { cluster?: object; user?: object }, RegExp]>([
    ['no check of certificates', { cluster: { 'insecure-skip-tls-verify': true } }, /insecure-skip-tls-verify/],
    ['no TLS', { cluster: { server: 'http://api.example.com' } }, /begins with https/],
    ['a proxy', { cluster: { 'proxy-url': 'http://proxy' } }, /proxy-url/],
    ['a program to log in with', { user: { exec: { command: 'login' } } }, /exec is not supported/],
    ['an auth provider', { user: { 'auth-provider': { name: 'gcp' } } }, /auth-provider is not supported/],
    [
      'an auth provider with a token file',
      { user: { 'auth-provider': { name: 'gcp', config: { tokenFile: 'token', 'cmd-path': 'login' } } } },
      /auth-provider is not supported/,
    ],
    ['a password', { user: { username: 'me', password: 'hunter2' } }, /username is not supported/],
    ['a token file that is missing', { user: { tokenFile: 'nowhere' } }, /ENOENT: no such file.*nowhere/],
  ])('refused: %s', async ([, parts, message]) => {
    const error = await read(configOf(parts)).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ name: 'ApiAccessError', message: expect.stringMatching(message) })
    expect(String(error)).not.toContain('hunter2')
  })

  test('refused: a file that is not a kubeconfig, without any of its content', async () => {
    const file = fileOf('token: [hunter2')
    const error = await read(file).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ message: `${file} is not a valid kubeconfig` })
  })
})

test('a kubeconfig that was replaced is used after `reload`', async () => {
  const file = fileOf(good)
  const access = kubeconfigAccess({ file })
  fileOf(good.replace('a.example', 'c.example'))
  expect((await access.read()).url).toBe('https://a.example:6443')
  access.reload?.()
  expect((await access.read()).url).toBe('https://c.example:6443')
})
