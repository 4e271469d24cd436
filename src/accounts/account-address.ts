import { isTestAccount, liveAccountOf, testAccountOf } from './authentication.ts';

// The address of a customer's page names its account, so that two tabs can show two accounts: /account/42/keys,
// /account/42/explore, and /account/test-42/keys for the test account. Routes and links in the code leave the account out:
// /account/keys, /explore. Without an account, an address leads to the account that was shown last.

const ACCOUNT = /^\/account\/(test-)?([1-9]\d{0,11})(?=[/?#]|$)/;

const EXPLORE = /^\/explore(?=[/?#]|$)/;

/** Returns the path that the routes have for an address. */
export function routeOf(url: string): string {
  const [named] = ACCOUNT.exec(url) ?? [];
  if (named === undefined) return url;
  const rest = url.slice(named.length);
  return EXPLORE.test(rest) ? rest : `/account${rest}`;
}

/** Returns the account that an address names: a live one, or a test account; null if it names none. */
export function accountNamed(url: string): number | null {
  const [, test, id] = ACCOUNT.exec(url) ?? [];
  if (id === undefined) return null;
  return test ? testAccountOf(Number(id)) : Number(id);
}

/** Returns the address of a customer's page for an account. Other addresses stay as they are. */
export function addressFor(accountId: number, path: string): string {
  if (ACCOUNT.test(path)) return path;
  const root = `/account/${isTestAccount(accountId) ? 'test-' : ''}${liveAccountOf(accountId)}`;
  if (EXPLORE.test(path)) return root + path;
  return path.replace(/^\/account(?=[/?#]|$)/, root);
}

/** Returns a rendered page whose links and forms name an account. The renderer escapes quotation marks in texts. */
export function linkedFor(accountId: number, html: string): string {
  return html.replace(
    /( (?:href|action|src|formaction|data-answer)=")(\/(?:account|explore)[^"]*)/g,
    (_match, start: string, path: string) => start + addressFor(accountId, path),
  );
}
