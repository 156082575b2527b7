// Compares the server of this checkout with the server of another one, both on the same database and measured in turns.
// Usage: compare.ts CHECKOUT [--only NAME[,NAME] of the operations] [--connections N] [--seconds N] [--rounds N]
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { operations } from './operations.ts'
import { pair } from './pair.ts'
import { printFigure, printHeading, rounded } from './report.ts'
import { end, REALMS, startBenchWorld, startServer } from './world.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    connections: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
  },
})
const [checkout] = positionals
if (checkout === undefined) {
  console.error('compare: name the other checkout')
  process.exit(2)
}

const connections = Number(values.connections)
const world = await startBenchWorld({ duration: Number(values.seconds), rounds: Number(values.rounds) })
const other = await startServer({
  databaseUrl: world.databaseUrl,
  keyringDir: `${world.directory}/keyrings`,
  cache: `${world.directory}/cache-other`,
  checkout: resolve(checkout),
})
try {
  printHeading('this checkout', checkout.slice(-31))
  for (const [algorithm, realm] of Object.entries(REALMS)) {
    const [ours, theirs] = [
      await operations(world.serverPort, realm, connections),
      await operations(other.port, realm, connections),
    ]
    for (const [index, { name, ...operation }] of ours.entries()) {
      if (values.only !== undefined && !values.only.split(',').includes(name)) continue
      const rates = await pair(
        world,
        { port: world.serverPort, connections, ...operation },
        { port: other.port, connections, ...theirs[index]! },
      )
      printFigure({
        row: `${name}, ${algorithm}`,
        measured: `${rounded(rates.ours)} /s`,
        floor: `${rounded(rates.floor)} /s`,
        ratio: rates.ours / rates.floor,
        wanted: '',
      })
    }
  }
} finally {
  await end(other.child)
  await world.remove()
}
