import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findLeaks } from './canary.ts'

async function logsWith(secrets: string[], lines: string[]): Promise<string> {
  const logs = await mkdtemp(join(tmpdir(), 'realmkeeper-canary-'))
  onTestFinished(() => rm(logs, { recursive: true, force: true }))
  await writeFile(join(logs, 'secrets-1'), `${secrets.map((secret) => JSON.stringify(secret)).join('\n')}\n`)
  await writeFile(join(logs, 'server-1.log'), `${lines.join('\n')}\n`)
  return logs
}

test('a secret in a log is found, and not repeated', async () => {
  const { leaks, secrets } = await findLeaks(
    await logsWith(['canary-secret', 'other-secret'], ['fine', 'a canary-secret']),
  )
  expect(secrets).toBe(2)
  expect(leaks).toEqual([expect.stringMatching(/^server-1\.log:2: holds a secret \(SHA-256 [0-9a-f]{12}\)$/)])
  expect(leaks.join()).not.toContain('canary')
})

test('a token is found by its signature, with another head as well', async () => {
  const { leaks } = await findLeaks(await logsWith(['head.claims.signature-of-it'], ['…signature-of-it']))
  expect(leaks).toHaveLength(1)
})

test('logs without secrets are fine', async () => {
  expect((await findLeaks(await logsWith(['canary-secret'], ['nothing']))).leaks).toEqual([])
})
