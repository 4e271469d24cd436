import { AuthenticationError } from './errors.ts';
import { sleep } from './transport.ts';

/** The tokens of a connection. The access token serves as `apiKey` until it ends. */
export interface Tokens {
  accessToken: string;
  refreshToken: string;
  /** Unix milliseconds, by the clock of this machine. */
  expiresAt: number;
}

export interface LoginOptions {
  /** Address of the service. */
  baseUrl: string;
  /** Shows a person the address to open and the code to compare. */
  onCode(shown: { address: string; code: string }): void;
  /** Ends the wait. */
  signal?: AbortSignal | undefined;
  /** Replaced by tests. */
  sleep?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
}

const CLIENT_ID = 'souk-command';
const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';
const USUAL_INTERVAL_SECONDS = 5;
const LONGEST_INTERVAL_MS = 60_000;

const SIGN_IN_AGAIN = 'Your sign-in has ended. Run "souk-client login" again.';

const REFUSALS: Readonly<Record<string, string>> = {
  access_denied: 'The sign-in was refused in the browser.',
  expired_token: 'The code has expired. Run the same command again.',
  invalid_grant: 'The code has expired. Run the same command again.',
};

/**
 * Signs in by the device authorization grant (RFC 8628): a person allows it in a browser. Stores nothing: the caller keeps the tokens.
 * @throws if the person does not allow it.
 */
export async function login({
  baseUrl,
  onCode,
  signal,
  sleep: pause = sleep,
}: LoginOptions): Promise<Tokens> {
  const server = await serverOf(baseUrl, signal);
  const scope = server.scopes_supported?.join(' ') ?? '';
  const { status, body } = await post(server.device_authorization_endpoint, { scope }, signal);
  if (status !== 200 || typeof body.device_code !== 'string') throw refusedBy(baseUrl, body);
  const { device_code, user_code = '', verification_uri = '', verification_uri_complete } = body;
  onCode({ address: verification_uri_complete ?? verification_uri, code: user_code });
  let intervalMs = (body.interval ?? USUAL_INTERVAL_SECONDS) * 1000;
  for (let leftMs = (body.expires_in ?? 0) * 1000; leftMs > 0; leftMs -= intervalMs) {
    await pause(intervalMs, signal);
    const answer = await post(server.token_endpoint, { grant_type: DEVICE_CODE, device_code }, signal).catch(
      (error: unknown) => {
        if (signal?.aborted) throw error;
        return null;
      },
    );
    if (answer?.status === 200) return tokensOf(answer.body);
    const { error = '' } = answer?.body ?? {};
    // A server that does not answer is asked less often.
    if (!answer || answer.status >= 500) intervalMs = Math.min(LONGEST_INTERVAL_MS, 2 * intervalMs);
    else if (error === 'slow_down') intervalMs += USUAL_INTERVAL_SECONDS * 1000;
    else if (error !== 'authorization_pending') throw new Error(REFUSALS[error] ?? detailOf(answer.body));
  }
  throw new Error(REFUSALS.expired_token);
}

/** Exchanges a refresh token for new tokens; it works once. @throws AuthenticationError if the connection has ended. */
export async function renewTokens(baseUrl: string, refreshToken: string): Promise<Tokens> {
  const server = await serverOf(baseUrl);
  const { status, body } = await post(server.token_endpoint, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
  });
  if (status === 200) return tokensOf(body);
  if (body.error === 'invalid_grant')
    throw new AuthenticationError(SIGN_IN_AGAIN, { code: '4001', status: 401 });
  throw refusedBy(baseUrl, body);
}

/** Ends the connection of a refresh token. */
export async function revokeToken(baseUrl: string, refreshToken: string): Promise<void> {
  const server = await serverOf(baseUrl);
  const { status, body } = await post(server.revocation_endpoint, {
    token: refreshToken,
    token_type_hint: 'refresh_token',
  });
  if (status !== 200) throw refusedBy(baseUrl, body);
}

/** What the answers of the server have that is used here. */
interface Answers {
  device_authorization_endpoint: string;
  token_endpoint: string;
  revocation_endpoint: string;
  scopes_supported?: readonly string[];
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete?: string;
  interval?: number;
  expires_in?: number;
  access_token: string;
  refresh_token: string;
  error?: string;
  error_description?: string;
  msg?: string;
}

async function serverOf(baseUrl: string, signal?: AbortSignal): Promise<Answers> {
  const { status, body } = await send(`${baseUrl}/.well-known/oauth-authorization-server`, {
    ...(signal && { signal }),
  });
  if (status === 200 && typeof body.device_authorization_endpoint === 'string') return body as Answers;
  throw new Error(
    `${baseUrl} does not let commands sign in${body.msg ? `: ${body.msg}` : '.'} Run "souk-client login --key" to store a key.`,
  );
}

function post(
  address: string,
  fields: Record<string, string>,
  signal?: AbortSignal,
): Promise<{ status: number; body: Partial<Answers> }> {
  const body = new URLSearchParams({ client_id: CLIENT_ID, ...fields });
  return send(address, { method: 'POST', body, ...(signal && { signal }) });
}

async function send(address: string, init: RequestInit): Promise<{ status: number; body: Partial<Answers> }> {
  const answer = await fetch(address, init).catch((error: unknown) => {
    if (init.signal?.aborted) throw init.signal.reason;
    const { message, cause } = error as { message: string; cause?: { message?: string } };
    throw new Error(`${new URL(address).origin} cannot be reached: ${cause?.message ?? message}`);
  });
  const text = await answer.text();
  try {
    return { status: answer.status, body: JSON.parse(text) as Partial<Answers> };
  } catch {
    return { status: answer.status, body: {} };
  }
}

function tokensOf({ access_token = '', refresh_token = '', expires_in = 0 }: Partial<Answers>): Tokens {
  return {
    accessToken: access_token,
    refreshToken: refresh_token,
    expiresAt: Date.now() + expires_in * 1000,
  };
}

function refusedBy(baseUrl: string, body: Partial<Answers>): Error {
  return new Error(`${baseUrl} refused the request: ${detailOf(body)}`);
}

function detailOf({ error_description, error, msg }: Partial<Answers>): string {
  return error_description ?? msg ?? error ?? 'its answer is not that of an authorization server';
}
