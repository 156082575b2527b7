import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/source_files.ts'

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path && existsSync(join(ROOT, path)))
const pages = files.filter((path) => path.endsWith('.md'))
const folders = new Set(files.flatMap((path) => (path.includes('/') ? [path.split('/')[0]!] : [])))

function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** The anchors of a page: GitHub's ids of its headings. */
function anchorsOf(path: string): string[] {
  return [...textOf(path).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function problemOf(page: string, link: string): string | undefined {
  const [path, anchor] = link.split('#')
  const target = path ? join(dirname(page), path) : page
  if (!existsSync(join(ROOT, target))) return `${page}: ${link} does not exist`
  if (anchor && !anchorsOf(target).includes(anchor)) return `${page}: ${link} names no heading`
  return undefined
}

test.for(pages)('every relative link in %s names a file and a heading', (page) => {
  const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!)
  expect(links.filter((link) => !/^[a-z]+:/.test(link)).flatMap((link) => problemOf(page, link) ?? [])).toEqual([])
})

// test/acceptance/coverage.test.ts checks the paths of the pages under test/.
test.for(pages.filter((page) => !page.startsWith('test/')))('every path in backticks in %s exists', (page) => {
  const paths = [...textOf(page).matchAll(/`([\w.-]+\/[\w./-]*)`/g)].map(([, path]) => path!)
  const ours = paths.filter((path) => folders.has(path.split('/')[0]!))
  expect(ours.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

test('the index of decisions lists every decision', () => {
  const index = textOf('docs/decisions/README.md')
  const decisions = pages.filter((path) => /^docs\/decisions\/\d/.test(path)).map((path) => basename(path))
  expect(decisions.filter((name) => !index.includes(`](${name})`))).toEqual([])
})
