import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const SCRIPT = fileURLToPath(new URL('../../scripts/test.ts', import.meta.url))
const FIXTURES = fileURLToPath(new URL('./fixtures', import.meta.url))

test.for([
  ['tests that pass, and a skipped one', ['passes'], '2 passed, 0 failed, 1 skipped', 0],
  ['a test that fails', ['fails'], '1 passed, 1 failed', 1],
  ['a beforeAll that fails', ['hook_before'], '0 passed, 1 failed, 1 skipped', 1],
  ['an afterAll that fails', ['hook_after'], '1 passed, 1 failed', 1],
  ['a module that does not load', ['does_not_load'], '0 passed, 1 failed', 1],
  ['an unhandled rejection', ['unhandled'], '1 passed, 1 failed', 1],
  ['a global teardown that fails', ['--config', 'teardown.config.ts', 'passes'], '2 passed, 1 failed, 1 skipped', 1],
  ['no test at all', ['no_such_file'], '0 passed, 1 failed', 1],
] as const)('the closing line counts %s', async ([, filter, line, code]) => {
  const child = spawn(process.execPath, [SCRIPT, '--root', FIXTURES, ...filter], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const output = await text(child.stdout)
  expect(output.trimEnd().split('\n').at(-1)).toBe(line)
  expect(await exited).toBe(code)
})
