import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KubeConfigError, loadKubeConfig } from '../../../../operator/source/cluster/kube_config.ts'

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
contexts: [{name: one, context: {cluster: a, user: me}}, {name: two, context: {cluster: b, user: me}}, {name: none, context: {cluster: c, user: me}}]
current-context: one
`

test('the current context, or the one that is named', () => {
  const file = fileOf(good)
  expect(loadKubeConfig({ file }).getCurrentCluster()?.server).toBe('https://a.example:6443')
  expect(loadKubeConfig({ file, context: 'two' }).getCurrentCluster()?.server).toBe('https://b.example/path')
})

test.for([
  ['that is missing', () => join(folder, 'missing'), undefined, /missing: there is no such file/],
  ['that is no YAML', () => fileOf('token: [not-for-messages'), undefined, /no kubeconfig that can be read/],
  ['without clusters', () => fileOf('users: []'), undefined, /names no cluster/],
  [
    'with a name missing',
    () => fileOf('clusters: [{cluster: {server: x}}]'),
    undefined,
    /no kubeconfig that can be read/,
  ],
  ['whose context names a cluster that is not there', () => fileOf(good), 'none', /context "none" names no cluster/],
  ['without the context that was asked for', () => fileOf(good), 'three', /context "three" names no cluster/],
] as const)('a file %s is said to be so, without a word of what it holds', ([, file, context, message]) => {
  const load = (): unknown => loadKubeConfig({ file: file(), context })
  expect(load).toThrow(KubeConfigError)
  expect(load).toThrow(message)
  expect(load).not.toThrow(/not-for-messages/)
})
