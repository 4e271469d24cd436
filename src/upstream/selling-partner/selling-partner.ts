import { SellingPartnerApiAuth } from '@sp-api-sdk/auth';
import {
  clientRateLimits,
  ReportProcessingStatusEnum,
  ReportsApiClient,
} from '@sp-api-sdk/reports-api-2021-06-30';
import pRetry from 'p-retry';
import { z } from 'zod';
import { REPORT_SITES, type ReportSite } from '../../operations/brand-analytics/keywords.ts';
import { addDays } from '../../platform/calendar.ts';
import { type Clock, sleep } from '../../platform/clock.ts';
import { MINUTE_MS } from '../../platform/durations.ts';
import { createHttpClient, type HttpClient } from '../http-client.ts';
import { type Credentials, ProviderRefusal, type Region, type ReportProvider } from './report-provider.ts';

const TOKEN_SERVER = 'https://api.amazon.com';

const ANSWER_TIMEOUT_MS = 30_000;

const MOST_BYTES = 65_536;

/** A token is not used shortly before it expires, because the call that uses it takes time. */
const MARGIN_MS = MINUTE_MS;

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

const REPORT_TYPE = 'GET_BRAND_ANALYTICS_SEARCH_TERMS_REPORT';

/** Delays before a retry; a throttled call waits at least for its quota. */
const RETRY_DELAYS_MS = [2_000, 10_000, 30_000, 60_000, 120_000];

/** The client with a configurable address. */
class AddressedClient extends ReportsApiClient {
  constructor(configuration: ConstructorParameters<typeof ReportsApiClient>[0], baseUrl: string | undefined) {
    super(configuration);
    if (baseUrl !== undefined) this.basePath = baseUrl;
  }
}

/** Creates a report provider for the Selling Partner API. */
export function openSellingPartner(credentials: Credentials, clock: Clock): ReportProvider {
  const http = createHttpClient({ connections: 2 });
  const clients = new Map<Region, ReportsApiClient>();

  function clientOf(site: ReportSite): ReportsApiClient {
    const { region } = REPORT_SITES[site];
    let client = clients.get(region);
    if (!client) {
      const auth = new AccessTokens(credentials, region, { http, clock });
      client = new AddressedClient({ auth, region }, credentials.baseUrl);
      clients.set(region, client);
    }
    return client;
  }

  return {
    async requestReport(site, week, signal) {
      const body = {
        reportType: REPORT_TYPE,
        reportOptions: { reportPeriod: 'WEEK' },
        dataStartTime: addDays(week, -6),
        dataEndTime: week,
        marketplaceIds: [REPORT_SITES[site].marketplaceId],
      };
      const send = (options: object) => clientOf(site).createReport({ body }, options);
      return (await call('createReport', { clock, signal }, send, orderSchema)).reportId;
    },
    async state(site, reportId, signal) {
      const send = (options: object) => clientOf(site).getReport({ reportId }, options);
      const { processingStatus, reportDocumentId } = await call(
        'getReport',
        { clock, signal },
        send,
        stateSchema,
      );
      return { status: processingStatus, documentId: reportDocumentId ?? null };
    },
    async addressOf(site, reportDocumentId, signal) {
      const send = (options: object) => clientOf(site).getReportDocument({ reportDocumentId }, options);
      return new URL((await call('getReportDocument', { clock, signal }, send, documentSchema)).url);
    },
    close: () => http.close(),
  };
}

/** Sends a call with retries. */
async function call<T>(
  name: keyof typeof PATHS,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
  send: (options: { signal: AbortSignal; timeout: number }) => Promise<{ data: unknown }>,
  schema: z.ZodType<T>,
): Promise<T> {
  const once = async () => {
    try {
      const { data } = await send({ signal, timeout: ANSWER_TIMEOUT_MS });
      return schema.parse(data);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof ProviderRefusal ? error : faultOf(name, error);
    }
  };
  return pRetry(once, {
    retries: RETRY_DELAYS_MS.length,
    // Time comes from the injected clock.
    minTimeout: 0,
    maxTimeout: 0,
    signal,
    shouldRetry: ({ error }) => error instanceof ProviderRefusal && error.mayPass,
    async onFailedAttempt({ error, attemptNumber, retriesLeft }) {
      if (retriesLeft === 0 || !(error instanceof ProviderRefusal) || !error.mayPass) return;
      await sleep(clock, Math.max(RETRY_DELAYS_MS[attemptNumber - 1] ?? 0, error.quotaMs), signal);
    },
  });
}

const orderSchema = z.object({ reportId: z.string().min(1) });

const stateSchema = z.object({
  processingStatus: z.enum(ReportProcessingStatusEnum),
  reportDocumentId: z.string().min(1).optional(),
});

const documentSchema = z.object({ url: z.url({ protocol: /^https?$/ }) });

const METHODS = { createReport: 'post', getReport: 'get', getReportDocument: 'get' } as const;

const PATHS = {
  createReport: '/reports/2021-06-30/reports',
  getReport: '/reports/2021-06-30/reports/x',
  getReportDocument: '/reports/2021-06-30/documents/x',
} as const;

/** The fields of a client error that may be shown; the others hold tokens. */
const clientError = z.object({
  code: z.string().optional(),
  response: z
    .object({
      status: z.number(),
      headers: z.looseObject({ 'x-amzn-ratelimit-limit': z.coerce.number().positive().optional() }).catch({}),
      data: z
        .object({ errors: z.array(z.object({ code: z.string(), message: z.string() })).nonempty() })
        .optional()
        .catch(undefined),
    })
    .optional(),
});

function faultOf(name: keyof typeof PATHS, error: unknown): ProviderRefusal {
  if (error instanceof z.ZodError)
    return new ProviderRefusal(`The Selling Partner API sent an unexpected answer to ${name}.`);
  const { code, response } = clientError.safeParse(error).data ?? {};
  if (!response)
    return new ProviderRefusal(`The Selling Partner API did not answer ${name}${code ? ` (${code})` : ''}.`, {
      mayPass: true,
    });
  const [said] = response.data?.errors ?? [];
  const reason = said ? `: ${said.code}, ${said.message.replace(/\.$/, '')}` : '';
  const { status } = response;
  const isThrottled = status === 429;
  const usual = clientRateLimits.find(
    ({ method, urlRegex }) => method === METHODS[name] && urlRegex.test(PATHS[name]),
  )?.rate;
  const rate = response.headers['x-amzn-ratelimit-limit'] ?? usual ?? 1;
  return new ProviderRefusal(`The Selling Partner API answered ${name} with ${status}${reason}.`, {
    mayPass: isThrottled || status >= 500,
    quotaMs: isThrottled ? Math.ceil(1000 / rate) : 0,
  });
}
