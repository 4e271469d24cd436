import { type Batches, createBatches } from './batches.ts';
import { Calls } from './calls.ts';
import { createFiles, type Files } from './files.ts';
import type { Methods } from './generated/operations.ts';
import { createJobs, type Jobs } from './jobs.ts';
import { renewTokens, type Tokens } from './login.ts';
import { createMethods } from './methods.ts';
import { tokenFetch } from './token-fetch.ts';
import { type Surroundings, sleep, Transport } from './transport.ts';
import { Units } from './units.ts';

export interface SoukOptions {
  /** Default: the environment variable SOUK_API_KEY. */
  apiKey?: string | undefined;
  /** Tokens of `login`, instead of a key. They are renewed before they end. */
  tokens?: Tokens | undefined;
  /** Receives renewed tokens, for a program that keeps them. The old ones no longer work. */
  onTokens?: ((tokens: Tokens) => void) | undefined;
  /** Address of the service. Default: the environment variable SOUK_URL. */
  baseUrl?: string | undefined;
  /** Attempts after the first one. Default: 4. */
  maxRetries?: number | undefined;
  /** All pauses of a request together. Default: 90 seconds, so that a request can wait for the next minute of the plan. */
  retryBudgetMs?: number | undefined;
  /** Default: the one of the runtime. */
  fetch?: typeof fetch | undefined;
}

const MOST_RETRIES = 4;
const RETRY_BUDGET_MS = 90_000;

/** A client of a Souk service: one method for each operation, such as `souk.market.product({ country: 'us', asins: [...] })`. */
export class Souk {
  /** Products, categories, sellers, deals and price charts. */
  readonly market: Methods['market'];
  /** Search interest and trending searches. */
  readonly trends: Methods['trends'];
  /** Brand analytics: ranks of search terms. */
  readonly aba: Methods['aba'];
  /** Keywords and products as joined answers, and the screens. */
  readonly research: Methods['research'];
  readonly retail: Methods['retail'];
  readonly account: Methods['account'];
  /** Usage and the ledger. */
  readonly billing: Methods['billing'];
  readonly keys: Methods['keys'];
  readonly audit: Methods['audit'];
  readonly jobs: Jobs;
  readonly batches: Batches;
  /** Files that jobs have written, such as those of `aba.export`. */
  readonly files: Files;
  /** Links that open one result without a key. */
  readonly links: Methods['links'];
  readonly schedules: Methods['schedules'];
  /** Conditions on products and keywords, and the alerts when they become true. */
  readonly trackers: Methods['trackers'];
  readonly webhooks: Methods['webhooks'];
  /** The units that the calls of this client have cost. */
  readonly units: Pick<Units, 'spent'>;

  /** @param surroundings replaced by tests. */
  constructor(options: SoukOptions = {}, surroundings: Partial<Surroundings> = {}) {
    const baseUrl = options.baseUrl ?? environment('SOUK_URL');
    const { tokens } = options;
    const apiKey = tokens?.accessToken ?? options.apiKey ?? environment('SOUK_API_KEY');
    if (!baseUrl) throw new TypeError('baseUrl: must be the address of the service, or set SOUK_URL');
    if (!apiKey) throw new TypeError('apiKey: must be the key of your account, or set SOUK_API_KEY');
    const units = new Units();
    const address = baseUrl.replace(/\/+$/, '');
    // In browsers fetch must be called as a method of the window.
    const send = options.fetch ?? ((...args) => fetch(...args));
    const renew = async ({ refreshToken }: Tokens) => {
      const renewed = await renewTokens(address, refreshToken);
      options.onTokens?.(renewed);
      return renewed;
    };
    const transport = new Transport({
      baseUrl: address,
      apiKey,
      maxRetries: options.maxRetries ?? MOST_RETRIES,
      retryBudgetMs: options.retryBudgetMs ?? RETRY_BUDGET_MS,
      fetch: tokens ? tokenFetch(tokens, renew, send) : send,
      now: Date.now,
      random: Math.random,
      sleep,
      ...surroundings,
    });
    const calls = new Calls(transport, units);
    const methods = createMethods(calls);
    this.units = units;
    this.market = methods.market;
    this.trends = methods.trends;
    this.aba = methods.aba;
    this.research = methods.research;
    this.billing = methods.billing;
    this.keys = methods.keys;
    this.audit = methods.audit;
    this.retail = methods.retail;
    this.account = methods.account;
    this.jobs = createJobs(calls, methods.jobs);
    this.batches = createBatches(calls, methods.batches);
    this.files = createFiles(calls);
    this.links = methods.links;
    this.schedules = methods.schedules;
    this.trackers = methods.trackers;
    this.webhooks = methods.webhooks;
  }
}

/** Returns an environment variable in runtimes that have them. */
function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name];
}
