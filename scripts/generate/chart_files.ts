import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Source patterns and their folders in the chart. Helm reads only files inside the chart, so the chart has copies. */
const COPIED: Record<string, string> = { 'crds/*.yaml': 'crds', 'crds/policies/*.yaml': 'policies' }

const TARGET = 'charts/realmkeeper/files'

/** The chart's copies, by path in the checkout. */
export function chartFiles(root: string): Map<string, string> {
  const copies = Object.entries(COPIED).flatMap(([pattern, folder]) =>
    globSync(pattern, { cwd: root })
      .toSorted()
      .map(
        (path) => [`${TARGET}/${folder}/${path.split('/').at(-1)}`, readFileSync(join(root, path), 'utf8')] as const,
      ),
  )
  return new Map(copies)
}
