import { expect, test } from 'vitest'
import { resolvedOrigins } from '../../../operator/client/settings.ts'

test.each<[string, string[], string[], string[]]>([
  ['listed ones', ['https://a.example', 'http://localhost:3000'], [], ['https://a.example', 'http://localhost:3000']],
  [
    '+ alone',
    ['+'],
    ['https://a.example/cb', 'https://a.example:8443/cb'],
    ['https://a.example', 'https://a.example:8443'],
  ],
  ['+ with others, each once', ['+', 'https://a.example'], ['https://a.example/cb'], ['https://a.example']],
  ['+ without redirect URIs', ['+'], [], []],
  ['default ports', ['https://a.example:443'], [], ['https://a.example']],
  ['private schemes have none', ['+'], ['com.example.app:/cb'], []],
  ['what is no origin', ['null', '*', 'javascript:alert(1)'], [], []],
])('origins: %s', (_what, webOrigins, redirectUris, expected) => {
  expect(resolvedOrigins(webOrigins, redirectUris)).toEqual(expected)
})
