import { getUsage } from './get-usage.ts';
import { listLedger } from './list-ledger.ts';

/** What the account has used, and every movement of its units. */
export const BILLING_ENDPOINTS = [getUsage, listLedger];
