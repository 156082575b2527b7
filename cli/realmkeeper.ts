#!/usr/bin/env node
// The entry file: checks the version of Node, then loads the rest through the compile cache, in a third of the time.
import { enableCompileCache } from 'node:module'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

const major = Number.parseInt(process.versions.node, 10)
if (major < 24) {
  console.error(
    `realmkeeper needs Node 24, and this is ${process.version}: run "npm ci" in the checkout, which installs it, ` +
      'then "npm start" or "npx realmkeeper …"',
  )
  process.exit(1)
}

// libuv reads this when its pool starts, so it is set before any other module loads. Password hashes take one thread for
// each core; the rest are for signatures and file reads, which must not wait for a hash.
// oxlint-disable-next-line node/no-process-env -- process/config.ts would load too late
process.env.UV_THREADPOOL_SIZE ||= String(availableParallelism() + 4)

// In the checkout: other users may write to /tmp, and the cache holds code. NODE_COMPILE_CACHE overrides the folder.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/realmkeeper', import.meta.url)))

const { runCommandLine } = await import('./main.ts')
await runCommandLine(process.argv.slice(2))
