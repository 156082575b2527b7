/**
 * Decodes base64url (RFC 4648 section 5, no padding). Returns undefined for anything but the one canonical text of
 * those bytes: Node's decoder skips unknown characters and ignores left-over bits, so two texts could mean one value.
 */
export function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
