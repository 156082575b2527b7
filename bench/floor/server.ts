// The floor of the server: a bare Koa handler with only the necessary SQL statements and signatures.
// Usage: server.ts DATABASE_URL PORT
import { createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import Koa from 'koa'
import { createPool } from '../../store/db.ts'

const [databaseUrl = '', port = '0'] = process.argv.slice(2)
const pool = createPool({ connectionString: databaseUrl, applicationName: 'floor' })
await pool.query(`create table if not exists floor (id integer primary key, n bigint not null, note text not null)`)
await pool.query(
  `insert into floor select i, 0, repeat('x', 200) from generate_series(0, 999) i on conflict do nothing`,
)

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const mac = randomBytes(64)
const claims = Buffer.from(JSON.stringify({ claims: 'c'.repeat(500) })).toString('base64url')

const jws = (key: KeyObject): string =>
  `${claims}.${sign('sha256', Buffer.from(claims), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`

/** The signatures of a refresh: an access token, an ID token, and a MAC over the refresh token. */
function tokens(key: KeyObject): object {
  const refreshToken = `${claims}.${createHmac('sha512', mac).update(claims).digest('base64url')}`
  return { access_token: jws(key), id_token: jws(key), refresh_token: refreshToken }
}

const anyRow = (): number => Math.floor(Math.random() * 1000)
const selectOne = (): Promise<unknown> =>
  pool.query({ name: 'select_one', text: 'select id, n, note from floor where id = $1', values: [anyRow()] })
const updateOne = (): Promise<unknown> =>
  pool.query({ name: 'update_one', text: 'update floor set n = n + 1 where id = $1 returning n', values: [anyRow()] })

async function readBody(request: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const app = new Koa()
app.use(async (ctx) => {
  const body = ctx.method === 'POST' ? await readBody(ctx.req) : ''
  if (ctx.path === '/select') {
    await selectOne()
    ctx.body = { active: true, note: 'n'.repeat(500) }
  } else if (ctx.path === '/select-echo') {
    await selectOne()
    ctx.body = JSON.parse(body) as object
  } else if (ctx.path === '/update-rs256' || ctx.path === '/update-es256') {
    const signed = tokens(ctx.path === '/update-rs256' ? rsa : ec)
    await updateOne()
    ctx.body = signed
  } else {
    ctx.status = 404
  }
})
const server = app.listen(Number(port), '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined })
})
process.on('disconnect', () => process.exit(0))
