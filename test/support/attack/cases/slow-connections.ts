import type { AttackCase } from '../attack-case.ts';

const CONNECTIONS_EACH = 500;
const LIMIT_SECONDS = 30;

/** Accounts of the slow bodies: each may have 200 requests open. */
const ACCOUNTS = 5;

export const slowConnections: AttackCase = {
  name: 'A8',
  what: `opens ${(3 * CONNECTIONS_EACH).toLocaleString('en')} connections with slow headers, slow bodies and slow forms`,
  async prepare({ target, attacker }) {
    const keys: string[] = [];
    for (let i = 0; i < ACCOUNTS; i += 1) keys.push((await target.account(`slow-${i}`)).key);
    const post = (path: string, headers: string) =>
      `POST ${path} HTTP/1.1\r\nHost: souk\r\n${headers}Content-Length: 50000\r\n\r\n`;
    const slowBodies = keys.map((key) =>
      post('/api/market/product-finder', `X-API-Key: ${key}\r\nContent-Type: application/json\r\n`),
    );
    const perKind = CONNECTIONS_EACH / ACCOUNTS;
    const slowHeaders = slowBodies.map(() => 'GET / HTTP/1.1\r\nHost: souk\r\nX-Slow: ');
    const slowForms = slowBodies.map(() =>
      post('/sign-in', 'Content-Type: application/x-www-form-urlencoded\r\n'),
    );
    return {
      attack: () =>
        attacker.openSlowConnections({
          gateway: target.gateway,
          beginnings: [...slowHeaders, ...slowBodies, ...slowForms],
          each: perKind,
          seconds: LIMIT_SECONDS,
        }),
      judge: ({ open = 0 }) => ({
        notes: [],
        faults: open === 0 ? [] : [`${open} connections were open after ${LIMIT_SECONDS} s`],
      }),
    };
  },
};
