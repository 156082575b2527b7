import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/postgres_server.ts', 'test/support/control_plane_binaries.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Two cores, and most files share one Postgres: more workers only wait for each other.
    maxWorkers: 2,
  },
})
