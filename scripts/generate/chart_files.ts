import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What the chart installs and other folders own: it renders these copies, because a chart can read its own folder only. */
const COPIED: Record<string, string> = { 'crds/*.yaml': 'crds', 'crds/policies/*.yaml': 'policies' }

const TARGET = 'charts/realmkeeper/files'

/** The chart's copies by their path in the checkout. */
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
