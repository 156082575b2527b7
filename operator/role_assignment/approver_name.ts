/**
 * What two spellings of one user name have in common. Upper case first: some letters have two lower-case forms
 * (the Greek sigma) or none of their own (ß), and would pass for another person.
 */
export function nameKey(userName: string): string {
  return userName.toUpperCase().toLowerCase()
}

export function sameName(one: string, other: string): boolean {
  return nameKey(one) === nameKey(other)
}
