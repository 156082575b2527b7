import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { parseJws, signJws, verifyJws } from '../../../keyring/jws.ts'
import { loadKeyring } from '../../../keyring/loaded_keyring.ts'
import { threadPoolSize } from '../../../process/config.ts'
import { createPasswords, hashConcurrency } from '../../../server/passwords/passwords.ts'
import { realmKeyring } from '../../support/realm_keyring.ts'

// Hundreds of times longer than a signature.
const LONG = { memoryKiB: 65_536, iterations: 20, parallelism: 1 }

test('signatures and verifications do not wait for a full queue of hashes', async () => {
  const { signer, verifiers } = await loadKeyring(await realmKeyring())
  const verifier = verifiers.get(signer?.kid ?? '')
  if (!signer || !verifier) throw new Error('the keyring has no signing key')
  const concurrency = hashConcurrency(availableParallelism(), threadPoolSize())
  const passwords = createPasswords({
    concurrency,
    inUse: async (_, present) => [present],
    log: pino({ level: 'silent' }),
  })
  let ended = 0
  const hashes = Array.from({ length: concurrency + 1 }, async () => {
    await passwords.enter('acme', LONG).verify(undefined, 'password')
    ended += 1
  })
  for (let times = 0; times < 10; times++) {
    const token = await signJws({ kid: signer.kid }, { times }, signer)
    const parsed = parseJws(token, token.length)
    expect(parsed && (await verifyJws(parsed, verifier))).toBe(true)
  }
  expect(ended).toBe(0)
  expect(passwords.length()).toBe(concurrency + 1)
  await Promise.all(hashes)
})

test.for([
  { cores: 1, threads: 5, hashes: 1 },
  { cores: 2, threads: 6, hashes: 2 },
  { cores: 16, threads: 20, hashes: 16 },
  { cores: 16, threads: 4, hashes: 2 },
  { cores: 2, threads: 1, hashes: 1 },
])('with $cores cores and $threads threads, $hashes hashes run at a time', ({ cores, threads, hashes }) => {
  expect(hashConcurrency(cores, threads)).toBe(hashes)
})

// Linux names the threads in /proc.
test.skipIf(process.platform !== 'linux')('the command starts the pool with more threads than cores', () => {
  const entry = fileURLToPath(new URL('../../../cli/realmkeeper.ts', import.meta.url))
  // Busies every thread of the pool once the command has loaded, then counts them.
  const count = `
    const { readdirSync, readFileSync } = require('node:fs')
    const { pbkdf2 } = require('node:crypto')
    process.once('beforeExit', () => {
      for (let each = 0; each < 64; each++) pbkdf2('a', 'b', 50_000, 32, 'sha256', () => {})
      setTimeout(() => {
        const names = readdirSync('/proc/self/task').map((id) => readFileSync('/proc/self/task/' + id + '/comm', 'utf8'))
        console.log('threads ' + names.filter((name) => name.startsWith('libuv-worker')).length)
      }, 1)
    })`
  const program = `--import=data:text/javascript,${encodeURIComponent(
    `import { createRequire } from 'node:module'; const require = createRequire('/'); ${count}`,
  )}`
  const { UV_THREADPOOL_SIZE: _, ...env } = process.env
  const { stdout } = spawnSync(process.execPath, [program, entry, 'audit', '--help'], { env, encoding: 'utf8' })
  expect(stdout).toContain(`threads ${availableParallelism() + 4}`)
})
