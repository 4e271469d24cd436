import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Target } from '../target.ts';
import type { Answers } from './attack-case.ts';

/** What another customer notices during an attack. */
export interface Experience {
  calls: number;
  answers: Answers;
  p95Ms: number;
  longestMs: number;
}

export interface SecondAccount {
  /** Creates accounts for the calls of the next case. */
  prepare(): Promise<void>;
  /** Sends cached calls, `parallel` at the same time, until `isOver`. @param seen earlier answers to include. */
  experience(isOver: () => boolean, parallel?: number, seen?: Answer[]): Promise<Experience>;
  close(): void;
}

export interface Answer {
  status: number;
  tookMs: number;
}

/** Products whose answers are in the cache. */
const PRODUCTS = 200;

const PAUSE_MS = 15;

/** Enough for the calls of one case. */
const ACCOUNTS = 10;

/** An address that the attacker does not use. */
const ADDRESS = '198.51.100.7';

/** An answer that takes longer counts as none. */
const PATIENCE_MS = 30_000;

/**
 * Opens a customer whose calls are cached and charged. An identical call within five minutes would be joined, so the
 * customer has several accounts, each of which asks once for each product. The first call of an account is also the first of
 * its key.
 */
export async function openSecondAccount(target: Target): Promise<SecondAccount> {
  const agent = new Agent({ keepAlive: true });
  const asins = Array.from({ length: PRODUCTS }, (_, i) => `B0CALM${String(i).padStart(4, '0')}`);
  const askFor = (key: string, asin: string) =>
    ask(agent, `${target.gateway}/api/market/product?domain=1&detailLevel=summary&key=${key}&asins=${asin}`);
  let accounts = 0;
  const newKey = async () => {
    accounts += 1;
    return (await target.account(`calm-${accounts}`)).key;
  };
  await warm(await newKey(), asins, askFor);
  const keys: string[] = [];
  return {
    async prepare() {
      while (keys.length < ACCOUNTS) keys.push(await newKey());
    },
    async experience(isOver, parallel = 1, seen = []) {
      const calls = (function* () {
        while (keys.length > 0 && !isOver()) {
          const key = keys.shift() ?? '';
          for (const asin of asins) yield { key, asin };
        }
      })();
      const send = async () => {
        for (const { key, asin } of calls) {
          seen.push(await askFor(key, asin));
          if (isOver()) return;
          await pause(PAUSE_MS * parallel);
        }
      };
      await Promise.all(Array.from({ length: parallel }, send));
      return summary(seen);
    },
    close: () => agent.destroy(),
  };
}

async function warm(
  key: string,
  asins: readonly string[],
  askFor: (key: string, asin: string) => Promise<Answer>,
): Promise<void> {
  const left = [...asins];
  const send = async () => {
    for (let asin = left.pop(); asin !== undefined; asin = left.pop()) {
      const { status } = await askFor(key, asin);
      if (status !== 200) throw new Error(`a product to be cached was answered with ${status}`);
    }
  };
  await Promise.all(Array.from({ length: 10 }, send));
}

function ask(agent: Agent, url: string): Promise<Answer> {
  return new Promise((resolve) => {
    const startedAt = performance.now();
    const finish = (status: number) => resolve({ status, tookMs: performance.now() - startedAt });
    const headers = { 'x-forwarded-for': ADDRESS };
    const sent = request(url, { agent, headers, timeout: PATIENCE_MS }, (response) => {
      response.resume();
      response.once('end', () => finish(response.statusCode ?? 0));
      response.once('error', () => finish(0));
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => finish(0));
    sent.end();
  });
}

function summary(seen: readonly Answer[]): Experience {
  const times = seen.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  const answers: Answers = {};
  for (const { status } of seen) {
    const name = status === 0 ? 'none' : String(status);
    answers[name] = (answers[name] ?? 0) + 1;
  }
  return {
    calls: seen.length,
    answers,
    p95Ms: times[Math.floor(times.length * 0.95)] ?? 0,
    longestMs: times.at(-1) ?? 0,
  };
}
