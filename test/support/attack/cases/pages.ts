import type { AttackCase } from '../attack-case.ts';

const PAGES = ['/', '/status', '/docs', '/docs/api', '/sign-in'];

export const pages: AttackCase = {
  name: 'pages',
  what: 'loads public pages over 50 connections from one address',
  async prepare({ target, attacker }) {
    return {
      attack: () =>
        attacker.flood({
          gateway: target.gateway,
          connections: 50,
          seconds: 15,
          requests: PAGES.map((path) => ({ method: 'GET', path, headers: { 'accept-encoding': 'gzip' } })),
        }),
    };
  },
};
