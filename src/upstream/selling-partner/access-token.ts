import { SellingPartnerApiAuth } from '@sp-api-sdk/auth';
import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import type { HttpClient } from '../http-client.ts';
import type { Credentials, Region } from './credentials.ts';
import { ProviderRefusal } from './provider-refusal.ts';

const TOKEN_SERVER = 'https://api.amazon.com';
const ANSWER_TIMEOUT_MS = 30_000;
const MOST_BYTES = 65_536;

/** A token is not used shortly before it expires, because the call that uses it takes time. */
const MARGIN_MS = 60_000;

const answerSchema = z.object({ access_token: z.string().min(1), expires_in: z.number().positive() });
const faultSchema = z.object({ error: z.string() });

/** Exchanges a region's refresh token for access tokens. The library's own class has a fixed address. */
export class AccessTokens extends SellingPartnerApiAuth {
  readonly #exchange: () => Promise<{ token: string; goodUntil: number }>;
  readonly #clock: Clock;
  #current: { token: string; goodUntil: number } | null = null;

  constructor(
    { clientId, clientSecret, refreshTokens, baseUrl }: Credentials,
    region: Region,
    { http, clock }: { http: HttpClient; clock: Clock },
  ) {
    const refreshToken = refreshTokens[region] ?? '';
    super({ clientId, clientSecret, refreshToken });
    this.#clock = clock;
    this.#exchange = async () => {
      const { status, body } = await http
        .send({
          method: 'POST',
          url: new URL(`${baseUrl ?? TOKEN_SERVER}/auth/o2/token`),
          form: {
            grant_type: 'refresh_token',
            refresh_token: refreshToken,
            client_id: clientId,
            client_secret: clientSecret,
          },
          signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
          maxBytes: MOST_BYTES,
        })
        .catch((error: unknown) => {
          const reason = (error as Error).message;
          throw new ProviderRefusal(`The token server cannot be reached: ${reason}.`, { mayPass: true });
        });
      const answer = readJson(body);
      const granted = answerSchema.safeParse(answer);
      if (status !== 200 || !granted.success) {
        const reason = faultSchema.safeParse(answer).data?.error ?? 'no reason given';
        throw new ProviderRefusal(
          `The refresh token of region ${region} was not exchanged for an access token: ${status}, ${reason}.`,
          { mayPass: status === 429 || status >= 500 },
        );
      }
      const { access_token: token, expires_in: seconds } = granted.data;
      return { token, goodUntil: clock.now() + seconds * 1000 - MARGIN_MS };
    };
  }

  override async getAccessToken(): Promise<string> {
    if (!this.#current || this.#clock.now() >= this.#current.goodUntil)
      this.#current = await this.#exchange();
    return this.#current.token;
  }
}

function readJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return null;
  }
}
