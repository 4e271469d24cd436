import type { AttackCase } from '../attack-case.ts';

const UNKNOWN_KEY = 'km_00000000000000000000{n}';
const SECONDS = 15;

/** A body with many fields, which the parser would have to spread. */
const manyFields = JSON.stringify(Object.fromEntries(Array.from({ length: 5_500 }, (_, i) => [`f${i}`, 0])));

export const unknownKeys: AttackCase = {
  name: 'unknown-keys',
  what: 'sends a well-formed unknown key with each request, over 100 connections from one address',
  prepare: async ({ target, attacker }) => ({
    attack: () =>
      attacker.flood({
        gateway: target.gateway,
        connections: 100,
        seconds: SECONDS,
        requests: [{ method: 'GET', path: '/api/quota', headers: { 'x-api-key': UNKNOWN_KEY } }],
      }),
    judge: ({ 429: limited = 0 }) => ({
      notes: [],
      faults: limited > 0 ? [] : ['the address reached no limit'],
    }),
  }),
};

export const fields: AttackCase = {
  name: 'C1',
  what: 'sends bodies of 5,500 fields over 20 connections, with an unknown key and with a valid one in turn',
  async prepare({ target, attacker }) {
    const { key } = await target.account('fields');
    const send = (apiKey: string) =>
      ({
        method: 'POST',
        path: '/api/market/product-finder',
        headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
        body: manyFields,
      }) as const;
    return {
      attack: () =>
        attacker.flood({
          gateway: target.gateway,
          connections: 20,
          seconds: SECONDS,
          requests: [send(UNKNOWN_KEY), send(key)],
        }),
    };
  },
};
