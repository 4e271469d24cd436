import type { AttackCase } from '../attack-case.ts';

export const freeCalls: AttackCase = {
  name: 'A6',
  what: 'sends dry runs over 100 connections with one key',
  async prepare({ target, attacker }) {
    const { key } = await target.account('free-calls');
    const path = '/api/market/product?domain=1&detailLevel=summary&asins=B0DRYRUN00&dryRun=1';
    return {
      attack: () =>
        attacker.flood({
          gateway: target.gateway,
          connections: 100,
          seconds: 15,
          requests: [{ method: 'GET', path, headers: { 'x-api-key': key } }],
        }),
    };
  },
};
