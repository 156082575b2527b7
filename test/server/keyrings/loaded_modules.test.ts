import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { ROOT } from '../../support/source_files.ts'

test('a server in a pod loads neither the Kubernetes library nor the operator', () => {
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
  expect(loaded.filter((name) => name.includes('@kubernetes') || name.includes('operator/'))).toEqual([])
})
