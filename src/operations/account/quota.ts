import { z } from 'zod';
import { defineLocal } from '../define.ts';

export const quota = defineLocal<'account.quota', Record<string, never>>({
  name: 'account.quota',
  summary: "Tells the account's quota and what the next call will be charged to.",
  tool: 'market_get_quota',
  routes: [
    { method: 'GET', path: '/api/quota' },
    { method: 'GET', path: '/api/token' },
  ],
  params: z.unknown().transform(() => ({})),
});
