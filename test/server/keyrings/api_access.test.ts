import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { inClusterAccess } from '../../../server/keyrings/api_server/api_access.ts'
import { kubeconfigAccess } from '../../../server/keyrings/api_server/kubeconfig_access.ts'
import { ROOT } from '../../support/source_files.ts'

describe('where the API server is, and as whom to go there', () => {
  const folder = mkdtempSync(join(tmpdir(), 'realmkeeper-kubeconfig-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const base64 = (text: string): string => Buffer.from(text).toString('base64')

  function fileOf({ cluster = {}, user = {} }: { cluster?: object; user?: object }): string {
    const file = join(folder, 'config')
    const config = {
      'current-context': 'here',
      contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: 'https://api.example.com/', ...cluster } }],
      users: [{ name: 'u', user }],
    }
    writeFileSync(file, JSON.stringify(config))
    return file
  }

  test('a kubeconfig gives certificates and tokens, in itself or in files beside it', async () => {
    writeFileSync(join(folder, 'ca.pem'), 'authority')
    writeFileSync(join(folder, 'token'), 'from-file\n')
    const user = { 'client-certificate-data': base64('certificate'), 'client-key-data': base64('key') }
    expect(await kubeconfigAccess(fileOf({ cluster: { 'certificate-authority': 'ca.pem' }, user }))()).toEqual({
      url: 'https://api.example.com',
      ca: 'authority',
      cert: 'certificate',
      key: 'key',
    })
    expect(await kubeconfigAccess(fileOf({ user: { tokenFile: 'token', token: 'stale' } }))()).toMatchObject({
      token: 'from-file',
    })
  })

  test.for<[string, { cluster?: object; user?: object }, RegExp]>([
    ['no check of certificates', { cluster: { 'insecure-skip-tls-verify': true } }, /insecure-skip-tls-verify/],
    ['no TLS', { cluster: { server: 'http://api.example.com' } }, /begins with https/],
    ['a proxy', { cluster: { 'proxy-url': 'http://proxy' } }, /proxy-url/],
    ['a program to log in with', { user: { exec: { command: 'login' } } }, /exec is not supported/],
    ['a password', { user: { username: 'me', password: 'hunter2' } }, /username is not supported/],
    ['a token file that is not there', { user: { tokenFile: 'nowhere' } }, /nowhere cannot be read: ENOENT/],
  ])('refused: %s', async ([, parts, message]) => {
    const error = await kubeconfigAccess(fileOf(parts))().catch((caught: unknown) => caught)
    expect(error).toMatchObject({ name: 'ApiAccessError', message: expect.stringMatching(message) })
    expect(String(error)).not.toContain('hunter2')
  })

  test('refused: no kubeconfig at all, without a word of what it holds', async () => {
    const file = join(folder, 'broken')
    writeFileSync(file, 'token: [hunter2')
    const error = await kubeconfigAccess(file)().catch((caught: unknown) => caught)
    expect(error).toMatchObject({ message: `${file} is not a kubeconfig` })
  })

  test('in a pod, an IPv6 address is written as URLs want it', async () => {
    writeFileSync(join(folder, 'ca.crt'), 'authority')
    writeFileSync(join(folder, 'token'), 'token\n')
    expect(await inClusterAccess({ host: 'fd00::1', port: '443' }, folder)()).toEqual({
      url: 'https://[fd00::1]:443',
      ca: 'authority',
      token: 'token',
    })
  })
})

test('a server does not load the Kubernetes client', () => {
  const program = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ resolve: (name, context, next) => { loaded.push(name); return next(name, context) } })
    await import('${ROOT}/server/main.ts')
    await import('${ROOT}/cli/commands/server.ts')
    console.log(JSON.stringify(loaded))`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  })
  const loaded: string[] = JSON.parse(stdout || stderr)
  expect(loaded.some((name) => name.endsWith('cluster_keyrings.ts'))).toBe(true)
  expect(loaded.filter((name) => name.includes('@kubernetes'))).toEqual([])
  expect(readFileSync(`${ROOT}/server/main.ts`, 'utf8')).not.toContain('@kubernetes')
})
