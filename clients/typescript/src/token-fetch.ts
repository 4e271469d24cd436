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
  /** Renews tokens, unless another request has renewed them meanwhile. */
  const renewed = async (used: Login): Promise<void> => {
    if (used !== tokens) return;
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
    if (tokens.expiresAt - Date.now() < EARLY_MS) await renewed(tokens);
    const used = tokens;
    const answer = await signed(input, init);
    // The clock of this machine may be wrong.
    if (answer.status !== 401) return answer;
    await renewed(used);
    return signed(input, init);
  };
}
