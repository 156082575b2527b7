import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { decideInDirectory } from '../../../../cli/decisions/directory/decide_in_directory.ts'
import type { DecideOptions } from '../../../../cli/decisions/directory/decide_in_directory.ts'
import { withFileLocked } from '../../../../cli/decisions/directory/lock_file.ts'
import type { Resource } from '../../../../operator/source/resource.ts'
import type { RoleAssignmentStatus } from '../../../../crds/role_assignment.gen.ts'
import { assignment, key } from '../../../operator/source/conformance.ts'
import { directoryWorld } from '../../../operator/source/directory/world.ts'
import type { DirectoryWorld } from '../../../operator/source/directory/world.ts'

const FILE = 'requests.yaml'
const TEXT = `# two requests
apiVersion: realmkeeper.io/v1alpha1
kind: RoleAssignment
metadata: {name: readers}
spec:
  realmRef: {name: acme}   # the realm
  subject: {kind: User, name: alice}
  roles: [reader]
  requestedBy: rita
---
apiVersion: realmkeeper.io/v1alpha1
kind: RoleAssignment
metadata: {name: writers, namespace: default}
spec: {realmRef: {name: acme}, subject: {kind: User, name: bob}, roles: [writer], requestedBy: rita}
`

async function worldWithRequests(): Promise<DirectoryWorld> {
  const world = await directoryWorld()
  world.write(FILE, TEXT)
  await world.eventually(() => world.source().list('RoleAssignment').length === 2)
  return world
}

function options(world: DirectoryWorld, given: Partial<DecideOptions> = {}): DecideOptions {
  const { directory, stateDir } = world
  return { directory, stateDir, name: 'readers', approver: 'ann', decision: 'Approved', now: new Date(), ...given }
}

function approvals(resource: Resource | undefined): string[] {
  const status: RoleAssignmentStatus = resource?.status ?? {}
  return (status.approvals ?? []).map((entry) =>
    `${entry.approver} ${entry.decision} ${entry.observedGeneration} ${entry.comment ?? ''}`.trim(),
  )
}

const seen = (world: DirectoryWorld, name = 'readers') => approvals(world.source().get(key('RoleAssignment', name)))

test('a decision is written into the file, read by the source, and the rest of the file stays', async () => {
  const world = await worldWithRequests()
  const decided = await decideInDirectory(options(world, { comment: 'fine with me' }))
  expect(decided).toMatchObject({ outcome: 'recorded', generation: 1, line: 4, file: join(world.directory, FILE) })
  await world.eventually(() => seen(world).length === 1)
  expect(seen(world)).toEqual(['ann Approved 1 fine with me'])

  const after = readFileSync(join(world.directory, FILE), 'utf8')
  const added = after.slice(after.indexOf('status:'), after.indexOf('---\n'))
  expect(after.replace(added, '')).toBe(TEXT)
  expect(world.reported).toEqual([])
  expect(world.source().get(key('RoleAssignment', 'readers'))?.metadata.generation).toBe(1)
})

test('simultaneous approvers lose no entry', async () => {
  const world = await worldWithRequests()
  const names = ['ann', 'bob', 'carol', 'dave', 'eve', 'frank', 'grace', 'heidi']
  await Promise.all(
    names.flatMap((approver) =>
      ['readers', 'writers'].map((name) => decideInDirectory(options(world, { approver, name }))),
    ),
  )
  await world.eventually(() => seen(world).length === names.length && seen(world, 'writers').length === names.length)
  expect(world.reported).toEqual([])
})

test('Approved may become Denied, and only an edit reverses Denied', async () => {
  const world = await worldWithRequests()
  await decideInDirectory(options(world))
  await decideInDirectory(options(world, { decision: 'Denied', comment: 'on second thought' }))
  await world.eventually(() => seen(world)[0] === 'ann Denied 1 on second thought')
  await expect(decideInDirectory(options(world))).rejects.toThrow(
    'ann has denied generation 1 of RoleAssignment readers',
  )
  await expect(decideInDirectory(options(world, { approver: 'bob' }))).rejects.toThrow(
    'only an edit of its spec opens it again',
  )

  const text = readFileSync(join(world.directory, FILE), 'utf8')
  writeFileSync(join(world.directory, FILE), text.replace('roles: [reader]', 'roles: [reader, writer]'))
  await world.eventually(() => world.source().get(key('RoleAssignment', 'readers'))?.metadata.generation === 2)
  await decideInDirectory(options(world))
  await world.eventually(() => seen(world)[0] === 'ann Approved 2')
  expect(seen(world)).toEqual(['ann Approved 2'])
})

test('a lock that cannot be removed is reported, with its path', async () => {
  const shared = sharedFolder()
  await asOrdinaryUser(async () => {
    let lock = ''
    const findLock = async () => {
      lock = lockIn(shared)
    }
    await withFileLocked('/x.yaml', findLock, { shared })
    writeFileSync(lock, '')
    chmodSync(dirname(lock), 0o555)
    const locked = withFileLocked('/x.yaml', async () => {}, { shared, maxWaitMillis: 100 })
    await expect(locked).rejects.toThrow(`another command (process unknown); if none runs, remove ${lock}`)
  })
})

test.skipIf(process.getuid?.() !== 0)(
  'another user who takes the name of the folder for locks blocks no decision',
  async () => {
    const shared = sharedFolder()
    const home = mkdtempSync(join(tmpdir(), 'realmkeeper-home-'))
    vi.stubEnv('HOME', home)
    onTestFinished(() => {
      vi.unstubAllEnvs()
      rmSync(home, { recursive: true })
    })
    const taken = join(shared, 'realmkeeper-locks-0')
    mkdirSync(taken, { mode: 0o777 })
    chownSync(taken, 65_534, 65_534)
    let lock = ''
    await withFileLocked('/x.yaml', async () => void (lock = readdirSync(join(home, '.realmkeeper-locks'))[0] ?? ''), {
      shared,
    })
    expect(lock).toMatch(/\.lock$/)
    expect(readdirSync(taken)).toEqual([])
  },
)

/** Like /tmp: every user may write in it. */
function sharedFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'realmkeeper-shared-'))
  chmodSync(folder, 0o1777)
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function lockIn(shared: string): string {
  const folder = join(shared, readdirSync(shared)[0] ?? '')
  return join(folder, readdirSync(folder)[0] ?? '')
}

/** Permissions do not limit root. */
async function asOrdinaryUser(run: () => Promise<void>): Promise<void> {
  const isRoot = process.getuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  try {
    await run()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

test('with `seen`, only that version is decided on', async () => {
  const world = await worldWithRequests()
  const { uid } = world.source().get(key('RoleAssignment', 'readers'))?.metadata ?? {}
  const decide = (version: string) => decideInDirectory(options(world, { seen: version }))
  await expect(decide('1/another')).rejects.toThrow(`RoleAssignment default/readers is 1/${uid} now`)

  world.write(FILE, TEXT.replace('roles: [reader]', 'roles: [reader, writer]'))
  await world.eventually(() => world.source().get(key('RoleAssignment', 'readers'))?.metadata.generation === 2)
  await expect(decide(`1/${uid}`)).rejects.toThrow(`is 2/${uid} now, not the version in --seen`)
  expect(readFileSync(join(world.directory, FILE), 'utf8')).not.toContain('approver')
  expect(await decide(`2/${uid}`)).toMatchObject({ outcome: 'recorded', generation: 2 })
})

test('a repeated decision changes nothing', async () => {
  const world = await worldWithRequests()
  await decideInDirectory(options(world))
  const before = readFileSync(join(world.directory, FILE), 'utf8')
  expect(await decideInDirectory(options(world))).toMatchObject({ outcome: 'unchanged' })
  expect(readFileSync(join(world.directory, FILE), 'utf8')).toBe(before)
})

test('a decision made while no process runs counts at the next start', async () => {
  const world = await worldWithRequests()
  await world.stop()
  await decideInDirectory(options(world))
  await world.start()
  expect(seen(world)).toEqual(['ann Approved 1'])
})

test('the file keeps its mode, a link stays a link, and no other file is left', async () => {
  const world = await directoryWorld()
  const target = join(world.directory, '..', 'elsewhere.yaml')
  writeFileSync(target, TEXT)
  // Wider than the umask lets a new file be.
  chmodSync(target, 0o666)
  symlinkSync(target, join(world.directory, FILE))
  await world.eventually(() => world.source().list('RoleAssignment').length === 2)
  await decideInDirectory(options(world))
  await world.eventually(() => seen(world).length === 1)
  expect(statSync(target).mode & 0o777).toBe(0o666)
  expect(readdirSync(world.directory)).toEqual([FILE])
  expect(readFileSync(target, 'utf8')).toContain('approver: "ann"')
})

describe('a decision that would not count is refused', () => {
  test.each([
    ['the requester', { approver: 'rita' }, 'requested by rita, who cannot decide'],
    ['row 101: the requester in another letter case', { approver: 'RiTa' }, 'requested by rita, who cannot decide'],
    ['no name', { approver: ' ' }, '--as NAME'],
    ['a comment that is too long', { comment: 'x'.repeat(1025) }, 'comment is longer than 1024 characters'],
    ['a name that is too long', { approver: 'x'.repeat(513) }, 'approver is longer than 512 characters'],
    ['an unknown name', { name: 'reader' }, 'no RoleAssignment reader; did you mean readers?'],
    ['an unknown name, far from all', { name: 'zzzzzzzz' }, '"realmkeeper pending" lists the RoleAssignments'],
    [
      'another namespace',
      { namespace: 'other' },
      'no RoleAssignment readers in namespace other; there is one in default',
    ],
  ])('%s', async (_what, given, message) => {
    const world = await worldWithRequests()
    await expect(decideInDirectory(options(world, given))).rejects.toMatchObject({
      name: 'PlainError',
      message: expect.stringContaining(message),
    })
    expect(readFileSync(join(world.directory, FILE), 'utf8')).toBe(TEXT)
  })

  test('a name in two namespaces', async () => {
    const world = await worldWithRequests()
    const other = assignment('readers')
    other.metadata.namespace = 'other'
    await world.apply(other)
    await world.eventually(() => world.source().list('RoleAssignment').length === 3)
    await expect(decideInDirectory(options(world))).rejects.toThrow('add --namespace with one of default, other')
    expect(await decideInDirectory(options(world, { namespace: 'other' }))).toMatchObject({ namespace: 'other' })
  })

  test('row 109: an edit that the source has not accepted', async () => {
    const world = await worldWithRequests()
    await world.stop()
    writeFileSync(join(world.directory, FILE), TEXT.replace('[reader]', '[admin]'))
    await expect(decideInDirectory(options(world))).rejects.toThrow(
      `${FILE}:4: RoleAssignment default/readers was edited`,
    )
  })

  test('a file that does not parse', async () => {
    const world = await worldWithRequests()
    world.write(FILE, TEXT.replace('subject: {', 'subject: {{'))
    await expect(decideInDirectory(options(world))).rejects.toThrow(/requests\.yaml:[78]:\d+: not valid YAML/)
  })

  test('an object that is being deleted, and one that is in no file', async () => {
    const world = await worldWithRequests()
    const resource = await world.eventually(() => world.source().get(key('RoleAssignment', 'readers')))
    await world.source().setFinalizer(key('RoleAssignment', 'readers'), resource.metadata.uid, true)
    world.write(FILE, '')
    await expect(decideInDirectory(options(world))).rejects.toThrow('is in no file of')
    await world.eventually(() => world.source().list('RoleAssignment')[0]?.metadata.deletionTimestamp)
    world.write(FILE, TEXT)
    await expect(decideInDirectory(options(world))).rejects.toThrow('is being deleted')
  })

  test('a file that cannot be written', async () => {
    const world = await worldWithRequests()
    mkdirSync(join(world.directory, `.${FILE}.realmkeeper.tmp`))
    await expect(decideInDirectory(options(world))).rejects.toThrow(
      /requests\.yaml cannot be written \(\w+\); nothing was changed/,
    )
    expect(readFileSync(join(world.directory, FILE), 'utf8')).toBe(TEXT)
  })

  test('a directory that no process has served yet', async () => {
    const world = await directoryWorld({ started: false })
    world.write(FILE, TEXT)
    await expect(decideInDirectory(options(world))).rejects.toThrow('start "realmkeeper dev" on the directory first')
  })
})
