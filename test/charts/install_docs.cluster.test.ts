import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { describe, expect, test } from 'vitest'
import { ROOT } from '../support/source_files.ts'
import { render } from './helm.ts'

const page = readFileSync(join(ROOT, 'docs/install.md'), 'utf8')

describe('docs/install.md', () => {
  test('shows values that the chart takes', async () => {
    const values = parse(/```yaml values\.yaml\n([\s\S]*?)```/.exec(page)![1]!)
    const manifests = await render(values)
    expect(JSON.stringify(manifests)).toContain('images.example.com/realmkeeper:')
  })

  test('names the roles that the chart has, with their verbs', async () => {
    const manifests = await render({ rbac: { realmApprovers: [{ namespace: 'acme', realm: 'acme' }] } })
    const roles = manifests.filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role')
    const named = [...page.matchAll(/^\| `(realmkeeper-[a-z-]+)` \|.*\| (?:`([a-z-]+)` )?\|$/gm)]
    expect(named).toHaveLength(6)
    for (const [, name, verb] of named) {
      const { rules } = roles.find(({ metadata }) => metadata.name === name)!
      const verbs = new Set<string>(rules.flatMap((rule: { verbs: string[] }) => rule.verbs))
      expect([...verbs].filter((each) => /approve|report|behalf|subject/.test(each))).toEqual(verb ? [verb] : [])
    }
    const bound = [...page.matchAll(/--(?:cluster)?role=(\S+)/g)].map(([, name]) => name)
    for (const name of bound) expect(roles.map(({ metadata }) => metadata.name)).toContain(name)
  })
})
