import { describe, test } from 'vitest'
import { scenarios } from '../conformance.ts'
import { directoryWorld } from './world.ts'

describe('a directory behaves like an API server', () => {
  for (const { name, run } of scenarios) {
    test(name, async () => run(await directoryWorld()))
  }
})
