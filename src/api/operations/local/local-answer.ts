import type { Reports } from '../../../../jobs/payload.ts';
import type { Admissions } from '../../../billing/admission.ts';
import type { OffPeakWindow } from '../../../billing/wallets.ts';
import type { InputOf } from '../../../operations/index.ts';
import type { Providers } from '../../../operations/pools.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/pool.ts';
import type { Account } from '../../plugins/authentication.ts';
import type { QuotaSnapshots } from './quota-snapshots.ts';

/** Dependencies of local operations. */
export interface LocalDeps {
  database: Database;
  reports: Reports;
  admissions: Admissions;
  clock: Clock;
  offPeak: OffPeakWindow;
  providers: Providers;
  links: LinkSettings;
  quotaSnapshots: QuotaSnapshots<Record<string, unknown>>;
}

/** Base addresses of links, without a trailing slash. */
export interface LinkSettings {
  chartSiteUrl: string;
  imageCdnUrl: string;
  /** Of the pictures of invented products, for test keys: this installation. */
  testImageUrl: string;
}

/** Answers an operation in the gateway, without a job. */
export type LocalAnswer<Operation> = (
  deps: LocalDeps,
  input: InputOf<Operation>,
  account: Account,
) => Promise<{ message?: string; data: Record<string, unknown> }>;
