import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import Koa from 'koa'
import { expect, test } from 'vitest'
import { ClientGone, openBody } from '../../../server/http/body.ts'

test('a caller that hung up before its body is read is gone; the read does not wait for the body', async () => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const socket = connect(typeof address === 'object' && address ? address.port : 0, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\nhalf')
  const [req, res] = await once(server, 'request')
  const gone = new Promise((resolve) => req.once('close', resolve))
  socket.destroy()
  await gone
  const readBody = await openBody(new Koa().createContext(req, res), 'json')
  await expect(readBody()).rejects.toThrow(ClientGone)
  server.close()
})

test('a caller that hangs up while its body is read is gone', async () => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const socket = connect(typeof address === 'object' && address ? address.port : 0, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\nhalf')
  const [req, res] = await once(server, 'request')
  const readBody = await openBody(new Koa().createContext(req, res), 'json')
  const read = expect(readBody()).rejects.toThrow(ClientGone)
  socket.destroy()
  await read
  server.close()
})
