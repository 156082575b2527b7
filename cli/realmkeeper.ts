#!/usr/bin/env node
// The command. It looks at the Node it runs on, then loads the rest through the compile cache (a third of the time).
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

const major = Number.parseInt(process.versions.node, 10)
if (major < 24) {
  console.error(
    `realmkeeper needs Node 24, and this is ${process.version}: run "npm ci" in the checkout, which installs one, ` +
      'then "npm start" or "npx realmkeeper …"',
  )
  process.exit(1)
}

// In the checkout and not in /tmp, where somebody else could have put code for us. NODE_COMPILE_CACHE moves it.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/realmkeeper', import.meta.url)))

const { runCommandLine } = await import('./main.ts')
await runCommandLine(process.argv.slice(2))
