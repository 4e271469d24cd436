import type { AttackCase } from '../attack-case.ts';

export const quotaReads: AttackCase = {
  name: 'A7',
  what: 'reads the quota over 50 connections with one key',
  async prepare({ target, attacker }) {
    const { key } = await target.account('quota');
    return {
      attack: () =>
        attacker.flood({
          gateway: target.gateway,
          connections: 50,
          seconds: 15,
          requests: [{ method: 'GET', path: '/api/quota', headers: { 'x-api-key': key } }],
        }),
      judge: (answers) => ({
        notes: [],
        faults: Object.keys(answers).join() === '200' ? [] : ['a read of the quota was refused'],
      }),
    };
  },
};
