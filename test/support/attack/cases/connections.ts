import type { AttackCase } from '../attack-case.ts';

const JSON_TYPE = 'application/json';

/** The most rows that one network may leave in an hour: programs, and for each request of a program its session and itself. */
const MOST_ROWS = 20 + 2 * 300;

export const connections: AttackCase = {
  name: 'O1',
  what: 'registers programs, and lets them ask for connections, over 50 connections from one address',
  async prepare({ target, attacker }) {
    const metadata = { client_name: 'Attacker {n}', redirect_uris: ['http://127.0.0.1/callback'] };
    const registered = await fetch(`${target.gateway}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': JSON_TYPE },
      body: JSON.stringify(metadata),
    });
    const { client_id: id } = (await registered.json()) as { client_id: string };
    const query = new URLSearchParams({
      client_id: id,
      redirect_uri: 'http://127.0.0.1/callback',
      response_type: 'code',
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
    });
    const headers = { 'x-forwarded-for': '192.0.2.1' };
    return {
      attack: () =>
        attacker.flood({
          gateway: target.gateway,
          connections: 50,
          seconds: 15,
          requests: [
            {
              method: 'POST',
              path: '/oauth/register',
              headers: { ...headers, 'content-type': JSON_TYPE },
              body: JSON.stringify(metadata),
            },
            { method: 'GET', path: `/oauth/authorize?${query}`, headers },
          ],
        }),
      async judge() {
        const { rows } = await target.database.query<{ count: number }>(
          'select count(*)::int as count from oauth_records',
        );
        const count = rows[0]?.count ?? 0;
        return {
          notes: [`${count} rows`],
          faults: count <= MOST_ROWS + 1 ? [] : [`${count} rows are stored, and ${MOST_ROWS} are allowed`],
        };
      },
    };
  },
};
