import type { AttackCase } from '../attack-case.ts';

const SECONDS = 15;

export const lockedAccount: AttackCase = {
  name: 'H3',
  what: `sends calls over 20 connections for an account whose row is locked for ${SECONDS} s`,
  async prepare({ target, attacker }) {
    const { key, accountId } = await target.account('locked');
    return {
      async attack() {
        const client = await target.database.connect();
        try {
          await client.query('begin');
          await client.query('set local idle_in_transaction_session_timeout = 0');
          await client.query('select from accounts where id = $1 for update', [accountId]);
          const path = '/api/market/product?domain=1&detailLevel=summary&asins=B0CALM0000';
          return await attacker.flood({
            gateway: target.gateway,
            connections: 20,
            seconds: SECONDS,
            requests: [{ method: 'GET', path, headers: { 'x-api-key': key } }],
          });
        } finally {
          await client.query('rollback');
          client.release();
        }
      },
      judge: ({ 200: served = 0 }) => ({
        notes: [],
        faults: served === 0 ? [] : ['the lock delayed no call of its account'],
      }),
    };
  },
};
