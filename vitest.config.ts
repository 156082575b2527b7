import { globSync, readFileSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import { defineConfig } from 'vitest/config'

const GIGABYTE = 2 ** 30
// Tests also wait, for processes, timers and PostgreSQL: more workers than cores keep the cores busy.
const workers = Math.ceil(availableParallelism() * 1.5)
// An API server, etcd and the processes of one cluster test use up to 2 GB.
const clusterWorkers = Math.max(1, Math.min(availableParallelism(), Math.floor(totalmem() / (2 * GIGABYTE))))

const TESTS = 'test/**/*.test.ts'
const CLUSTER_TESTS = 'test/**/*.cluster.test.ts'
const ATTACKS = 'test/attacks/**/*.test.ts'
const POSTGRES = 'test/support/postgres_server.ts'
const CONTROL_PLANE = 'test/support/control_plane_binaries.ts'

export default defineConfig({
  test: {
    // A test that hangs fails after this time. A test that passes may take a fraction of it on a quiet machine, and most
    // of it on a busy one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    projects: [
      {
        // npm test
        extends: true,
        test: {
          name: 'local',
          include: [TESTS],
          exclude: [CLUSTER_TESTS],
          globalSetup: [POSTGRES],
          maxWorkers: workers,
        },
      },
      {
        // npm run test:cluster
        extends: true,
        test: {
          name: 'cluster',
          include: [CLUSTER_TESTS],
          globalSetup: [POSTGRES, CONTROL_PLANE],
          maxWorkers: clusterWorkers,
        },
      },
      {
        // npm run test:soak
        extends: true,
        test: {
          name: 'soak',
          include: soakTests(),
          exclude: [ATTACKS],
          globalSetup: [POSTGRES, CONTROL_PLANE],
          maxWorkers: clusterWorkers,
          testTimeout: 3_600_000,
          env: { REALMKEEPER_TEST_SOAK: '1' },
        },
      },
      {
        // npm run test:soak, after the project `soak`: what is measured has the machine for itself.
        extends: true,
        test: {
          name: 'attacks',
          include: [ATTACKS],
          globalSetup: [POSTGRES, CONTROL_PLANE],
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
          testTimeout: 3_600_000,
          env: { REALMKEEPER_TEST_SOAK: '1' },
        },
      },
    ],
  },
})

/** The test files with a random run whose length test/support/soak.ts chooses. */
function soakTests(): string[] {
  return globSync(TESTS).filter((path) => /^import .*\/soak\.ts'/m.test(readFileSync(path, 'utf8')))
}
