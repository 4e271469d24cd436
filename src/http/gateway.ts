import type { Redis } from 'ioredis';
import type { Backlog } from '../../jobs/backlog.ts';
import type { SubmitDeps } from '../../jobs/submit.ts';
import type { CompletionMap } from '../../jobs/wait.ts';
import type { Authentication } from '../accounts/authentication.ts';
import type { WrongKeys } from '../accounts/wrong-keys.ts';
import type { OffPeakWindow } from '../billing/wallets.ts';
import type { Logger } from '../log.ts';
import type { RedisKeys } from '../redis-keys.ts';

/** What the routes of a gateway work with. */
export interface Gateway extends SubmitDeps {
  redis: Redis;
  keys: RedisKeys;
  backlog: Backlog;
  authentication: Authentication;
  wrongKeys: WrongKeys;
  completions: CompletionMap;
  offPeak: OffPeakWindow;
  links: LinkSettings;
  log: Logger;
}

/** Addresses that links are built from, without a slash at the end. */
export interface LinkSettings {
  chartSiteUrl: string;
  imageCdnUrl: string;
}
