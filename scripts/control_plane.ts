// npm run control-plane: builds what the tests need of a Kubernetes control plane, once, into a cache outside the
// checkout. Says where each binary lies.
import { BINARIES, findGo } from './control_plane/binaries.ts'
import { provideBinaries } from './control_plane/build.ts'

async function main(): Promise<void> {
  const paths = await provideBinaries({ say: (line) => console.log(line) })
  for (const { name } of BINARIES) console.log(`${name}: ${paths[name] ?? 'missing'}`)
  if (BINARIES.every(({ name }) => paths[name] !== undefined)) return

  if (process.env.KUBEBUILDER_ASSETS) console.log(`KUBEBUILDER_ASSETS=${process.env.KUBEBUILDER_ASSETS} lacks some`)
  else if (findGo() === undefined) console.log('install Go, or name a folder with the binaries in KUBEBUILDER_ASSETS')
  process.exitCode = 1
}

if (import.meta.main) await main()
