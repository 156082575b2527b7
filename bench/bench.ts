// npm run bench: measures each row and its floor in the same run. See bench/README.md.
// Options: --only NAME[,NAME] of the rows below, --seconds N for one round of one side, --rounds N.
import { parseArgs } from 'node:util'
import { printFigure, printHeading } from './report.ts'
import type { Figure } from './report.ts'
import { clusterRows } from './rows/cluster.ts'
import { endedSessionRows } from './rows/ended_sessions.ts'
import { equalTimeRows } from './rows/equal_time.ts'
import { loginRows } from './rows/login.ts'
import { memoryRows } from './rows/memory.ts'
import { fieldRows, refreshRows, tokenRows } from './rows/requests.ts'
import { servedRows } from './rows/served.ts'
import { startupRows } from './rows/startup.ts'
import { userRows } from './rows/users.ts'
import { startBenchWorld } from './world.ts'
import type { BenchWorld } from './world.ts'

/** The rows in order. They run one after the other, so that they do not disturb each other. */
const ROWS: Record<string, (world: BenchWorld) => Promise<Figure[]>> = {
  login: loginRows,
  refresh: refreshRows,
  token: tokenRows,
  field: fieldRows,
  'equal-time': equalTimeRows,
  startup: startupRows,
  memory: memoryRows,
  users: userRows,
  cluster: clusterRows,
  served: servedRows,
  ends: endedSessionRows,
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(ROWS).join(',') },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
  },
})
const wanted = values.only.split(',')
const unknown = wanted.find((name) => !(name in ROWS))
if (unknown !== undefined) {
  console.error(`bench: unknown row ${unknown}; the rows are ${Object.keys(ROWS).join(', ')}`)
  process.exit(2)
}

const world = await startBenchWorld({ duration: Number(values.seconds), rounds: Number(values.rounds) })
try {
  printHeading()
  for (const name of wanted) {
    for (const figure of (await ROWS[name]?.(world)) ?? []) printFigure(figure)
  }
} finally {
  await world.remove()
}
