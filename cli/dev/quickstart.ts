import { existsSync } from 'node:fs'
import { cp, mkdir, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { refuseForeignFolders } from './state_directory.ts'

const EXAMPLE = fileURLToPath(new URL('../../examples/quickstart', import.meta.url))

/** The working copy, relative to the current folder, as the commands of the tour name it. */
export const QUICKSTART_DIRECTORY = '.realmkeeper/quickstart/manifests'

/** Creates the working copy of the quickstart's manifests; an existing one keeps its edits. Returns true when created. */
export async function createQuickstart(): Promise<boolean> {
  const copy = resolve(QUICKSTART_DIRECTORY)
  if (existsSync(copy)) return false
  await refuseForeignFolders(copy)
  const unfinished = `${copy}.new`
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(dirname(copy), { recursive: true })
  await cp(EXAMPLE, unfinished, { recursive: true })
  await rename(unfinished, copy)
  return true
}

/** A tour of the quickstart to paste into a shell; it needs curl and node only. */
export function tour({ baseUrl, directory }: { baseUrl: string; directory: string }): string {
  return `The tour. Paste it into another terminal, in this folder:

  # alice logs in through the client "shop"
  R=${baseUrl}/auth/realms/quickstart/protocol/openid-connect
  S='client_id=shop&client_secret=shop-secret-for-development'
  J='Content-Type: application/json'
  pick() { node -p 'JSON.parse(fs.readFileSync(0, "utf8"))[process.argv[1]]' "$1"; }
  login() { curl -s $R/token -d "$S" -d grant_type=password -d username=alice -d password=alice-password-1 -d "scope=$1"; }
  A=$(login openid | pick access_token)

  # who is she, and is her token active?
  curl -s $R/userinfo -H "Authorization: Bearer $A"; echo
  curl -s $R/token/introspect -d "$S" -d token=$A; echo

  # may she encrypt a date of birth? Not yet: 403
  curl -s $R/encrypt -H "Authorization: Bearer $A" -H "$J" -d '{"field":"dateOfBirth","value":"1990-04-01"}'; echo

  # two role assignments wait for approval; approve them
  npx realmkeeper pending --dir ${directory}
  npx realmkeeper approve alice-realm-admin --dir ${directory}
  npx realmkeeper approve quickstart-dob --dir ${directory}

  # a token with the new roles; encrypt and decrypt
  T=$(login 'openid _svc_dob.selfencrypt _svc_dob.selfdecrypt')
  A=$(echo "$T" | pick access_token)
  C=$(curl -s $R/encrypt -H "Authorization: Bearer $A" -H "$J" -d '{"field":"dateOfBirth","value":"1990-04-01"}' | pick ciphertext); echo $C
  curl -s $R/decrypt -H "Authorization: Bearer $A" -H "$J" -d '{"field":"dateOfBirth","ciphertext":"'$C'"}'; echo

  # renew the token, then log out: the refresh token stops working
  F=$(curl -s $R/token -d "$S" -d grant_type=refresh_token -d refresh_token=$(echo "$T" | pick refresh_token) | pick refresh_token)
  curl -s -w '%{http_code}\\n' $R/logout -d "$S" -d refresh_token=$F
  curl -s $R/token -d "$S" -d grant_type=refresh_token -d refresh_token=$F; echo
`
}
