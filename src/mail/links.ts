/** The path of the page that confirms an e-mail address. */
export function confirmPath(token: string): string {
  return `/confirm-email?token=${token}`;
}

/** The path of the page that switches off mails of a topic. */
export function unsubscribePath(token: string): string {
  return `/unsubscribe?token=${token}`;
}
