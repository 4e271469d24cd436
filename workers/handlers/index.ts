import { BRAND_ANALYTICS_HANDLERS } from './brand-analytics.ts';
import type { HandlersOf } from './handler.ts';
import { MARKET_HANDLERS } from './market.ts';
import { RESEARCH_HANDLERS } from './research/index.ts';
import { TRENDS_HANDLERS } from './trends.ts';

/** The handlers of all operations. An operation without its handler does not compile. */
export const HANDLERS: HandlersOf<string> = {
  ...MARKET_HANDLERS,
  ...TRENDS_HANDLERS,
  ...BRAND_ANALYTICS_HANDLERS,
  ...RESEARCH_HANDLERS,
};
