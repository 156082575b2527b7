import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, startChild, untilReady } from './child.ts'
import type { Child } from './child.ts'

/** One etcd with its data in `folder`. */
export interface Etcd {
  url: string
  stop(): Promise<void>
  /** Compacts all revisions before the present one. */
  compact(): Promise<void>
  /** Writes outside the keys of Kubernetes. Each write raises the revision. */
  write(times: number): Promise<void>
  /** The objects under a prefix, as `/registry/realmkeeper.io/users/`. */
  stored(prefix: string): Promise<StoredObject[]>
  /** Copies the data as they are now, and returns the path of the copy. */
  backup(): string
  /** Stops etcd, puts a copy in the place of its data, and starts etcd with it. */
  restore(copy: string): Promise<void>
}

/** An object as the API server stores it. */
export interface StoredObject {
  apiVersion: string
  kind: string
}

export async function startEtcd(program: string, folder: string): Promise<Etcd> {
  const [port, peerPort] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const data = join(folder, 'etcd')
  let copies = 0
  let etcd = start()

  function start(): Child {
    return startChild(
      program,
      [
        `--data-dir=${data}`,
        `--listen-client-urls=${url}`,
        `--advertise-client-urls=${url}`,
        `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
        // The data need not survive a power cut.
        '--unsafe-no-fsync=true',
        '--log-level=warn',
      ],
      join(folder, 'etcd.log'),
    )
  }

  return {
    url,
    stop: () => etcd.stop(),
    async compact() {
      const { header } = await call(`${url}/v3/kv/range`, { key: encoded('/') })
      await call(`${url}/v3/kv/compaction`, { revision: header.revision, physical: true })
    },
    async write(times) {
      const put = { key: encoded('/others'), value: encoded('') }
      for (let time = 0; time < times; time++) await call(`${url}/v3/kv/put`, put)
    },
    async stored(prefix) {
      const end = prefix.slice(0, -1) + String.fromCodePoint(prefix.codePointAt(prefix.length - 1)! + 1)
      const { kvs = [] } = await call(`${url}/v3/kv/range`, { key: encoded(prefix), range_end: encoded(end) })
      return kvs.map(({ value }) => JSON.parse(Buffer.from(value, 'base64').toString()))
    },
    backup() {
      const copy = `${data}-${++copies}`
      // While etcd writes nothing, its files are what a power cut would leave, from which it recovers.
      process.kill(etcd.pid, 'SIGSTOP')
      try {
        cpSync(data, copy, { recursive: true })
      } finally {
        process.kill(etcd.pid, 'SIGCONT')
      }
      return copy
    },
    async restore(copy) {
      await etcd.stop()
      rmSync(data, { recursive: true })
      cpSync(copy, data, { recursive: true })
      etcd = start()
      await untilReady('etcd', etcd, async () => (await fetch(`${url}/health`)).ok)
    },
  }
}

interface EtcdAnswer {
  header: { revision: string }
  kvs?: { value: string }[]
}

async function call(url: string, body: object): Promise<EtcdAnswer> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`etcd: ${response.status} ${await response.text()}`)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every answer of etcd has a header
  return (await response.json()) as EtcdAnswer
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64')
}
