// The load of one attack, in a process of its own, so that it does not delay the callers that are measured. It prints a
// line when something was counted, runs until SIGTERM, and then prints all counts as JSON.
import { setTimeout as sleep } from 'node:timers/promises'
import { ATTACKS } from './attacks.ts'
import type { Target } from './attacks.ts'

const [name = '', target = '{}'] = process.argv.slice(2)
const attack = ATTACKS[name]
if (!attack) throw new Error(`no attack ${name}`)
const options: Target = JSON.parse(target)
const done = new Map<string, number>()
function count(what: string): void {
  if (done.size === 0) process.stdout.write('started\n')
  done.set(what, (done.get(what) ?? 0) + 1)
}

process.once('SIGTERM', () => {
  process.stdout.write(JSON.stringify(Object.fromEntries(done)), () => process.exit(0))
})

await Promise.all(
  Array.from({ length: attack.connections }, async (_, lane) => {
    for (;;) {
      await attack.play(options, count, lane)
      // A server that refuses connections does not make this a busy loop.
      await sleep(1)
    }
  }),
)
