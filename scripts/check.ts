// npm run check: format, lint, types, generated files. Runs all of them, also after one fails.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = `${root}node_modules/.bin`

const checks: [name: string, program: string, ...args: string[]][] = [
  ['format', `${bin}/oxfmt`, '--check'],
  ['lint', `${bin}/oxlint`, '--type-aware', '--deny-warnings'],
  ['types', `${bin}/tsc`, '--noEmit'],
  ['generated files', process.execPath, 'scripts/generate.ts', '--check'],
]

/** Returns the number of failed checks. */
function runChecks(): number {
  const failed: string[] = []
  for (const [name, program, ...args] of checks) {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: root, encoding: 'utf8' })
    if (status === 0) {
      console.log(`ok      ${name}`)
      continue
    }
    failed.push(name)
    console.log(`failed  ${name}\n${stdout ?? ''}${stderr ?? ''}`)
  }
  if (failed.includes('format')) console.log('run "npm run format"')
  return failed.length
}

if (import.meta.main) process.exitCode = runChecks() > 0 ? 1 : 0
