import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findingsLine, findLeaks } from '../../scripts/test/find_leaks.ts'
import type { Findings } from '../../scripts/test/find_leaks.ts'

async function leaksIn(secrets: string[], logs: Record<string, string>): Promise<Findings> {
  const folder = await mkdtemp(join(tmpdir(), 'realmkeeper-canary-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'secrets-1'), `${secrets.map((secret) => JSON.stringify(secret)).join('\n')}\n`)
  for (const [name, text] of Object.entries(logs)) await writeFile(join(folder, name), text)
  return findLeaks(folder)
}

describe('row 67: a secret in a log', () => {
  test('is reported with its place, and not repeated', async () => {
    const found = await leaksIn(['canary-secret', 'other-secret'], { 'server-1.log': 'fine\na canary-secret\nfine\n' })
    expect(found).toEqual({
      logLines: 3,
      secrets: 2,
      leaks: [expect.stringMatching(/^server-1\.log:2: holds a secret \(SHA-256 [0-9a-f]{12}\)$/)],
    })
    expect(found.leaks.join()).not.toContain('canary')
    expect(findingsLine(found)).toBe('canary: 3 log lines, 2 secrets, 1 found')
  })

  test.for<[string, string]>([
    ['at the start', 'canary-secret is here'],
    ['at the end', 'here is canary-secret'],
    ['alone', 'canary-secret'],
    ['inside a word', 'xxcanary-secretxx'],
    ['after a text that starts the same', 'canary-canary-secret'],
    ['after characters that are not ASCII', 'ä\u{1f511}canary-secret'],
  ])('%s', async ([, text]) => {
    expect((await leaksIn(['canary-secret'], { 'a.log': text })).leaks).toHaveLength(1)
  })

  test('is found each time, in each log', async () => {
    const { leaks } = await leaksIn(['canary-secret'], {
      'a.log': 'canary-secret canary-secret\n\ncanary-secret',
      'b.log': 'canary-secret',
    })
    const places = leaks.map((leak) => leak.replace(/: .*/, ''))
    expect(places.toSorted((one, other) => one.localeCompare(other))).toEqual([
      'a.log:1',
      'a.log:1',
      'a.log:3',
      'b.log:1',
    ])
  })

  test('is found as JSON writes it', async () => {
    const secret = 'can"ary\\sec\nret'
    expect((await leaksIn([secret], { 'a.log': JSON.stringify({ secret }) })).leaks).toHaveLength(1)
  })

  test('is found among many with the same ending', async () => {
    const secrets = Array.from({ length: 5000 }, (_, at) => `${at}-same-ending`)
    const { leaks } = await leaksIn(secrets, { 'a.log': 'x 4321-same-ending x' })
    // It ends like three other secrets, which are found, too.
    expect(leaks).toHaveLength(4)
  })
})

test('a token is found by its signature, also with another header; a header alone is no secret', async () => {
  const token = 'head.claims.signature-of-it'
  expect((await leaksIn([token], { 'a.log': '…signature-of-it' })).leaks).toHaveLength(1)
  expect((await leaksIn([token], { 'a.log': 'head.claims' })).leaks).toEqual([])
})

test('logs without secrets have no findings', async () => {
  const found = await leaksIn(['canary-secret'], { 'a.log': 'nothing\ncanary-secre\nanary-secret\n', 'b.log': '' })
  expect(findingsLine(found)).toBe('canary: 3 log lines, 1 secrets, none found')
})
