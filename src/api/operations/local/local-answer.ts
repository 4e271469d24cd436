import type { Admissions } from '../../../billing/admission.ts';
import type { OffPeakWindow } from '../../../billing/wallets.ts';
import type { InputOf } from '../../../operations/index.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/pool.ts';
import type { Account } from '../../plugins/authentication.ts';

/** What local operations answer from. */
export interface LocalDeps {
  database: Database;
  admissions: Admissions;
  clock: Clock;
  offPeak: OffPeakWindow;
  links: LinkSettings;
}

/** Addresses that links are built from, without a slash at the end. */
export interface LinkSettings {
  chartSiteUrl: string;
  imageCdnUrl: string;
}

/** Answers an operation on the spot. */
export type LocalAnswer<Operation> = (
  deps: LocalDeps,
  input: InputOf<Operation>,
  account: Account,
) => Promise<{ message?: string; data: Record<string, unknown> }>;
