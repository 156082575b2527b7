// A process that writes without pause until it is killed; run by sigkill.test.ts.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { directorySource } from '../../../../operator/source/directory/directory_source.ts'
import { keyOf } from '../../../../operator/source/resource.ts'

const [directory = '', stateDir = ''] = process.argv.slice(2)
const source = directorySource({
  directory,
  stateDir,
  now: () => new Date(),
  pollMilliseconds: 20,
  report: (problem) => console.log(`problem ${problem.message}`),
  recordEvent: () => undefined,
})
await source.start()
console.log('started')

let edited = 0
for (let round = 0; ; round++) {
  const base = ['apiVersion: realmkeeper.io/v1beta1', 'kind: User', 'metadata: {name: alice}']
  const spec = `spec: {realmRef: {name: acme}, username: alice, firstName: "${process.pid}-${round}"}`
  if (performance.now() > edited + 80) {
    edited = performance.now()
    writeFileSync(join(directory, 'alice.yaml'), [...base, spec, ''].join('\n'))
  }
  for (const resource of source.list('User')) {
    const { uid, generation } = resource.metadata
    // The state must contain every line that is printed here, also after the crash.
    console.log(`seen ${uid} ${generation}`)
    const message = `${round} ${'x'.repeat(3000)}`
    const conditions = [{ type: 'Ready', status: 'True' as const, reason: 'Served', message }]
    await source.writeStatus(keyOf(resource), uid, { observedGeneration: generation, conditions })
    const secret = { namespace: 'default', name: 'made', labels: {}, data: { n: Buffer.from(`${round}`.repeat(2000)) } }
    const version = source.secrets.version(secret)
    await (version ? source.secrets.update(secret, version) : source.secrets.create(secret))
  }
  await new Promise((resolve) => setTimeout(resolve, 2))
}
