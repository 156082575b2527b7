// Writes status until the disk is full, reports it, and continues on a signal. full_disk.test.ts runs it.
import { once } from 'node:events'
import { directorySource } from '../../../../operator/source/directory/directory_source.ts'
import { keyOf } from '../../../../operator/source/resource.ts'

const [directory = '', stateDir = ''] = process.argv.slice(2)
const source = directorySource({
  directory,
  stateDir,
  now: () => new Date(),
  report: (problem) => console.log(problem.message),
  recordEvent: () => undefined,
})
await source.start()

const [resource] = source.list('User')
if (!resource) throw new Error('no User')
const write = (round: number) =>
  source.writeStatus(keyOf(resource), resource.metadata.uid, {
    observedGeneration: 1,
    conditions: [{ type: 'Ready', status: 'True', reason: 'Served', message: `${round} ${'x'.repeat(3000)}` }],
  })

for (let round = 0; ; round++) {
  try {
    await write(round)
  } catch (error) {
    console.log(`full ${error instanceof Error ? error.message : ''}`)
    const held = source.get(keyOf(resource))?.status?.conditions?.[0]?.message ?? ''
    await once(process.stdin, 'data')
    await write(100_000)
    console.log(`went on after ${Number(held.split(' ')[0])} of ${round}`)
    break
  }
}
await source.stop()
process.exit()
