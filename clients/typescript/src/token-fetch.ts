import type { Tokens } from './login.ts';

/** A token is renewed this long before its end. */
const EARLY_MS = 60_000;

/** Returns a `fetch` that sends the token of a connection, and renews it when it ends. */
export function tokenFetch<Login extends Tokens>(
  first: Login,
  renew: (used: Login) => Promise<Login>,
  send: typeof fetch = fetch,
): typeof fetch {
  let tokens = first;
  let renewing: Promise<Login> | null = null;
  const renewOnce = async (): Promise<void> => {
    renewing ??= renew(tokens);
    try {
      tokens = await renewing;
    } finally {
      renewing = null;
    }
  };
  const signed: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set('authorization', `Bearer ${tokens.accessToken}`);
    return send(input, { ...init, headers });
  };
  return async (input, init) => {
    if (tokens.expiresAt - Date.now() < EARLY_MS) await renewOnce();
    const answer = await signed(input, init);
    // The clock of this machine may be wrong.
    if (answer.status !== 401) return answer;
    await renewOnce();
    return signed(input, init);
  };
}
